import { Folder, type FoldState, type LogRecord, merge, settleTurn } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomLog, testSession } from '../../../core/src/testing/random-log.ts';
import { someOf } from '../../../core/src/testing/runs.ts';
import { type TaskMessage, type Update, updateSchema } from '../contract/message.ts';
import { withNext } from '../stream/frames/frame-chunk.ts';
import { byId, shownByAgentex, updatesOfLog } from '../testing/agentex-client.ts';
import { updateLists } from '../testing/random-updates.ts';
import { recordedLogs } from '../testing/recorded-logs.ts';
import { recordUpdates, task } from '../testing/recorded-updates.ts';
import { messagesOf } from './task-messages.ts';
import { connectedFrame, restatement, updatesOf, updatesView } from './updates-view.ts';

/** Random logs in which some items were written by updates. */
const logs = fc
  .array(fc.nat(0xffff), { minLength: 1, maxLength: 400, size: 'max' })
  .map((numbers) =>
    randomLog(numbers).map((record, at) => indexed(record, (numbers[at] ?? 0) % 3)),
  );

function indexed(record: LogRecord, index: number): LogRecord {
  const { fact } = record;
  if (fact?.type !== 'item_started' || index === 0) return record;
  return { ...record, fact: { ...fact, metadata: { ...fact.metadata, index } } } as LogRecord;
}

const isDone = ({ streaming_status }: TaskMessage) => streaming_status === 'DONE';

/** Streaming messages are compared by their text. For all other types, a client has only the start. */
const comparable = (messages: readonly TaskMessage[]) => [
  byId(messages.filter(isDone)),
  new Map(
    messages
      .filter((message) => !isDone(message) && message.content.type === 'text')
      .map(({ id, content }) => [id, content]),
  ),
];

const stateAt = (records: readonly LogRecord[], through: number): FoldState => {
  const folder = new Folder(records.length === 0 ? testSession : testSession);
  const some = records.filter(({ offset }) => offset <= through);
  folder.addBatch({ after: 0, through, records: some });
  return folder.state;
};

describe('law 5: the messages of a client of updates', () => {
  test('equal the messages of the task, at any record', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const { updates, state } = updatesOfLog(
          testSession,
          records.slice(0, 1 + (at % records.length)),
        );
        const { messages, refetched } = shownByAgentex(updates);
        expect(comparable(messages)).toEqual(comparable(messagesOf(state)));
        expect(refetched).toEqual([]);
      }),
    );
  });

  test('are the same if it connects at any record, with the list of that time and a restatement', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const cut = at % (records.length + 1);
        const { steps, state } = updatesOfLog(testSession, records);
        const here = stateAt(records, cut);
        const tail = steps.filter(({ offset }) => offset > cut).flatMap(({ updates }) => updates);
        const { messages } = shownByAgentex([...restatement(here), ...tail], messagesOf(here));
        expect(comparable(messages)).toEqual(comparable(messagesOf(state)));
      }),
    );
  });

  test('are the same if appends were merged', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const { updates, state } = updatesOfLog(testSession, merge(records), records.length);
        expect(comparable(shownByAgentex(updates).messages)).toEqual(comparable(messagesOf(state)));
      }),
    );
  });

  test('are the same if it receives several records together', () => {
    const written = updateLists.map((updates) => [task, recordUpdates(updates).records] as const);
    const any = fc.oneof(
      logs.map((records) => [testSession, records] as const),
      written,
    );
    fc.assert(
      fc.property(any, fc.integer({ min: 1, max: 9 }), ([session, records], length) => {
        const folder = new Folder(session);
        const updates: Update[] = [];
        for (let after = 0; after < records.length; after += length) {
          const steps: (readonly [FoldState, LogRecord, FoldState])[] = [];
          const some = records.slice(after, after + length);
          const through = after + some.length;
          folder.addBatch({ after, through, records: some }, (...step) => steps.push(step));
          for (const [step, next] of withNext(steps))
            updates.push(...updatesOf(...step, next?.[1]).map(({ update }) => update));
        }
        const { messages, refetched } = shownByAgentex(updates);
        expect(comparable(messages)).toEqual(comparable(messagesOf(folder.state)));
        expect(refetched).toEqual([]);
      }),
    );
  });

  test('are the same if turns were settled meanwhile', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const cut = at % (records.length + 1);
        const whole = stateAt(records, records.length);
        const turns = new Set(
          records.flatMap(({ turn, fact }) => (fact?.type === 'turn_finished' ? turn : [])),
        );
        const settled = [...turns].reduce<readonly LogRecord[]>(
          (some, turn) => settleTurn(some, turn, whole),
          records,
        );
        const had = updatesOfLog(testSession, records.slice(0, cut));
        const folder = new Folder(had.state);
        const updates = had.updates.slice();
        folder.addBatch({ after: cut, through: records.length, records: settled }, (...step) =>
          updates.push(...updatesOf(...step).map(({ update }) => update)),
        );
        expect(comparable(shownByAgentex(updates).messages)).toEqual(comparable(messagesOf(whole)));
      }),
    );
  });

  test('equal the log for every recording, cut at any record', async () => {
    for (const { name, session, records } of await recordedLogs()) {
      const { steps, state } = updatesOfLog(session, records);
      const { messages, refetched } = shownByAgentex(steps.flatMap(({ updates }) => updates));
      expect(byId(messages), name).toEqual(byId(messagesOf(state)));
      expect(refetched, name).toEqual([]);
      const folder = new Folder(session);
      const cuts = new Set(someOf(records));
      for (const record of records) {
        folder.add(record);
        if (!cuts.has(record)) continue;
        const tail = steps.filter(({ offset }) => offset > record.offset);
        const streamed = [...restatement(folder.state), ...tail.flatMap(({ updates }) => updates)];
        const resumed = shownByAgentex(streamed, messagesOf(folder.state));
        expect(byId(resumed.messages), `${name} at ${record.offset}`).toEqual(byId(messages));
      }
    }
  });
});

describe('frames', () => {
  test('are valid updates with unique ids', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const folder = new Folder(testSession);
        const ids: string[] = [];
        const through = records.length;
        folder.addBatch({ after: 0, through, records }, (...step) => {
          for (const { id, data } of updatesView.frames(...step)) {
            ids.push(id ?? '');
            const update: unknown = JSON.parse(data);
            expect(updateSchema.parse(update)).toEqual(update);
          }
        });
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.every((id) => /^\d+(\.\d+)?$/.test(id))).toBe(true);
      }),
    );
  });

  test('of one record have `offset.k` as id, except the last', () => {
    const called = (id: string, at: number) => ({
      ...{ type: 'delta', index: at },
      delta: { tool_call_id: id, name: 'n', arguments_delta: '{}' },
    });
    const { records } = recordUpdates([called('a', 0), called('b', 1)], { leave: true });
    const superseded: LogRecord = {
      ...{ v: 1, offset: records.length + 1, time: 1, turn: 1, attempt: 1, producer: 'test' },
      fact: { type: 'attempt_superseded', reason: 'test' },
    };
    const folder = new Folder(task);
    for (const record of records) folder.add(record);
    const before = folder.state;
    folder.add(superseded);
    const { offset } = superseded;
    const frames = updatesView.frames(before, superseded, folder.state);
    expect(frames.map(({ id }) => id)).toEqual([`${offset}.0`, `${offset}`]);
    expect(frames.every(({ data }) => JSON.parse(data).retracted === true)).toBe(true);
  });

  test('of a restatement have no id and follow the connected frame', () => {
    const text = { type: 'delta', index: 0, delta: { text_delta: 'Hel' } };
    const { state } = recordUpdates([text, text], { leave: true });
    const frames = updatesView.restate(state);
    expect(frames.map(({ id, data }) => [id, JSON.parse(data).type])).toEqual([
      [undefined, 'start'],
      [undefined, 'delta'],
    ]);
    expect(JSON.parse(frames[1]?.data ?? '')).toMatchObject({ delta: { text_delta: 'HelHel' } });
    expect(connectedFrame(state).data).toBe('{"type":"connected","taskId":"task"}');
  });
});

test('no delta precedes the start of its message', () => {
  fc.assert(
    fc.property(updateLists, (updates) => {
      const { updates: streamed } = updatesOfLog(task, recordUpdates(updates).records);
      const started = new Set(
        streamed.filter(({ type }) => type === 'start').map((one) => one.parent_task_message?.id),
      );
      const deltas = streamed.filter(({ type }) => type === 'delta');
      expect(deltas.every((one) => started.has(one.parent_task_message?.id))).toBe(true);
    }),
  );
});
