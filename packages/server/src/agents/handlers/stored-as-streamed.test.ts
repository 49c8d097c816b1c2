import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import type { TaskMessage, Update, UpdateInput } from '../../contract/message.ts';
import type { SyncAgent } from '../../contract/served-agent.ts';
import { contents, updateLists } from '../../testing/random-updates.ts';
import {
  collect,
  createTaskHarness,
  type TaskHarness,
  userText,
} from '../../testing/servers/task-harness.ts';

/** An agent that sends scripted updates and may fail at their end. */
function scriptedAgent() {
  let script: readonly unknown[] = [];
  let breaksOff = false;
  const agent: SyncAgent = {
    ...{ type: 'sync', name: 'puppet' },
    async *onMessage() {
      yield* script as readonly UpdateInput[];
      if (breaksOff) throw new Error('Broken off');
    },
  };
  const play = (updates: readonly unknown[], isBroken: boolean) => {
    script = updates;
    breaksOff = isBroken;
  };
  return { agent, play };
}

/** The fields that are equal in two runs of the same script. */
function comparable(messages: readonly TaskMessage[]): readonly unknown[] {
  return messages.map(({ content, streaming_status }) => ({ content, streaming_status }));
}

/** Returns the last update of each message, as a client sees it that reads only updates. */
function lastUpdates(updates: readonly Update[]): ReadonlyMap<string, Update> {
  const ends = updates.filter(({ type }) => type === 'done' || type === 'full');
  return new Map(ends.map((update) => [update.parent_task_message?.id ?? '', update]));
}

async function newAnswer(harness: TaskHarness) {
  const { id } = await harness.newTask('puppet');
  const answer = await harness.send('puppet', id, 'Go');
  return { id, answer };
}

test('stores any updates, the same with and without streaming, and the stream equals the stored messages', async () => {
  const { agent, play } = scriptedAgent();
  const harness = await createTaskHarness([agent]);
  await fc.assert(
    fc.asyncProperty(updateLists, async (updates) => {
      play(updates, false);
      const streamed = await newAnswer(harness);
      const received = lastUpdates(await collect(streamed.answer.updates()));
      const stored = (await harness.messages(streamed.id)).filter(
        ({ id }) => !id?.startsWith(`${streamed.id}.0.`),
      );
      for (const { id, content, streaming_status } of stored) {
        expect(streaming_status).toBe('DONE');
        expect(received.get(id ?? '')?.parent_task_message?.content).toEqual(content);
      }
      const whole = await newAnswer(harness);
      expect(comparable(await whole.answer.messages())).toEqual(comparable(stored));
      expect((await harness.task(streamed.id)).status).toBe('RUNNING');
    }),
    { numRuns: runs(100) },
  );
});

test('an agent that fails at any update leaves nothing open, and no streamed content is lost', async () => {
  const { agent, play } = scriptedAgent();
  const harness = await createTaskHarness([agent]);
  await fc.assert(
    fc.asyncProperty(updateLists, async (updates) => {
      play(updates, true);
      const { id, answer } = await newAnswer(harness);
      await expect(answer.messages()).rejects.toThrow('The handler of the agent threw');
      const messages = await harness.messages(id);
      expect(messages.every(({ streaming_status }) => streaming_status === 'DONE')).toBe(true);
      const { hasWork } = (await harness.log.info(sessionId(id))) ?? {};
      expect([hasWork, (await harness.task(id)).status]).toEqual([false, 'FAILED']);
    }),
    { numRuns: runs(50) },
  );
});

test('content from another client is read back as written, edited or not', async () => {
  const harness = await createTaskHarness([scriptedAgent().agent]);
  const { id: task_id } = await harness.newTask('puppet');
  const { messages } = harness.service;
  await fc.assert(
    fc.asyncProperty(contents, contents, fc.boolean(), async (first, second, isOpen) => {
      const streaming_status = isOpen ? ('IN_PROGRESS' as const) : ('DONE' as const);
      const created = await messages.create({ task_id, content: first, streaming_status });
      if (!isOpen) expect(created.content).toEqual(first);
      expect(created.streaming_status).toBe(streaming_status);
      const edited = await messages.update(created.id ?? '', { task_id, content: second });
      expect(edited).toMatchObject({ id: created.id, content: second, streaming_status: 'DONE' });
      expect(await messages.get(created.id ?? '')).toEqual(edited);
    }),
    { numRuns: runs(100) },
  );
  const shown = userText('And it goes on');
  expect((await messages.create({ task_id, content: shown })).content).toEqual(shown);
});
