import { sessionId } from '@millrace/core';
import { type Clock, memoryLog, snapshot } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { TaskMessage } from '../contract/message.ts';
import { agentText, createTaskHarness, userText } from '../testing/servers/task-harness.ts';
import { messagesOf } from '../updates/task-messages.ts';
import { listMessages, type MessageQuery } from './message-list.ts';

const listener = { type: 'async', name: 'listener', onEvent: async () => {} } as const;

/** An action on the messages of a task, and the time since the previous action. */
const anyStep = fc.record({
  kind: fc.constantFrom('user', 'user', 'agent', 'open', 'many', 'edit', 'dated'),
  /** Several messages often have the same time. */
  afterMs: fc.constantFrom(0, 0, 1, 1000),
  place: fc.nat(),
});

const anyQuery = fc.record({
  filters: fc.constantFrom<MessageQuery['filters']>(
    [],
    [],
    [{ content: { author: 'user' }, exclude: false }],
    [{ streaming_status: 'IN_PROGRESS', exclude: true }],
  ),
  limit: fc.integer({ min: 1, max: 40 }),
  direction: fc.constantFrom<MessageQuery['direction']>('older', 'newer'),
  skip: fc.nat(50),
  /** The message of the cursor, and whether that message was deleted. Undefined: there is no cursor. */
  cursor: fc.option(fc.record({ place: anyPlace(), isGone: fc.boolean() }), { nil: undefined }),
});

/** Items are stored in groups of 32, so the messages at the ends of groups are drawn more often. */
function anyPlace(): fc.Arbitrary<number> {
  const atEnd = fc.tuple(fc.nat(5), fc.integer({ min: -1, max: 1 }));
  return fc.oneof(
    fc.nat(200),
    atEnd.map(([group, beside]) => 32 * (group + 1) + beside),
  );
}

/** Computes the expected page from the list of all messages. */
function expectedPage(all: readonly TaskMessage[], query: MessageQuery, last?: TaskMessage) {
  const { direction, limit, skip = 0 } = query;
  const [filter] = query.filters;
  const matches = ({ content, streaming_status }: TaskMessage) =>
    filter?.content == null
      ? streaming_status !== filter?.streaming_status
      : content.author === 'user';
  const inOrder = direction === 'older' ? all.toReversed() : all;
  const position = inOrder.findIndex(({ id }) => id === last?.id);
  const isBehind = ({ created_at }: TaskMessage) =>
    direction === 'older'
      ? (created_at ?? '') < (last?.created_at ?? '')
      : (created_at ?? '') > (last?.created_at ?? '');
  const gone = inOrder.findIndex(isBehind);
  const from = position >= 0 ? position + 1 : gone < 0 ? inOrder.length : gone;
  const rest = (last === undefined ? inOrder : inOrder.slice(from)).filter(
    (message) => filter === undefined || matches(message),
  );
  const start = last === undefined ? skip : 0;
  return { data: rest.slice(start, start + limit), hasMore: rest.length > start + limit };
}

test('21.F: a page of messages is a slice of all messages in the order of their creation', async () => {
  // For tasks without edited, dated or streaming messages, a page is read without reading the other messages.
  const plainSteps = anyStep.filter(({ kind }) => !['edit', 'dated', 'open'].includes(kind));
  const steps = fc.oneof({ arbitrary: fc.array(plainSteps), weight: 3 }, fc.array(anyStep));
  const property = fc.asyncProperty(
    steps,
    fc.array(anyQuery, { minLength: 5, maxLength: 20 }),
    async (done, queries) => {
      let now = Date.parse('2026-01-01');
      const clock: Clock = { now: () => now, after: () => () => {} };
      const log = memoryLog({ clock });
      const { service, newTask } = await createTaskHarness([listener], { log, clock });
      const { id: task_id } = await newTask('listener');
      const created: string[] = [];
      for (const { kind, afterMs, place } of done) {
        now += afterMs;
        const content = kind === 'user' ? userText('Hi') : agentText('Hello');
        const edited = created[place % Math.max(1, created.length)];
        if (kind === 'edit') {
          if (edited !== undefined)
            await service.messages.update(edited, { task_id, content: userText('Better') });
          continue;
        }
        const more = {
          ...(kind === 'open' && { streaming_status: 'IN_PROGRESS' as const }),
          ...(kind === 'dated' && { created_at: new Date(now - 500).toISOString() }),
        };
        const count = kind === 'many' ? 20 + (place % 80) : 1;
        for (let n = 0; n < count; n++) {
          now += afterMs === 0 ? 0 : n % 2;
          created.push((await service.messages.create({ task_id, content, ...more })).id ?? '');
        }
      }
      const state = await snapshot(log, sessionId(task_id));
      const all = messagesOf(state);
      for (const { cursor: at, ...query } of queries) {
        const known = at && all[at.place % Math.max(1, all.length)];
        const last = known && at.isGone ? { ...known, id: `${task_id}.1.1.gone` } : known;
        const cursor = last && Buffer.from(`${last.created_at} ${last.id}`).toString('base64url');
        const { data, next } = await listMessages(state, { ...query, cursor });
        const expected = expectedPage(all, query, last);
        expect({ data, hasMore: next !== null }).toEqual(expected);
      }
      await service.close();
    },
  );
  await fc.assert(property, { numRuns: runs(200) });
});
