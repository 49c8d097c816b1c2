import type { Client, TaskOutline } from '@millrace/client';
import { countingIds, toArray } from '@millrace/core';
import { emptyOutline, foldOutline } from '@millrace/core/spans';
import { TestClock } from '@millrace/log/suite';
import { describe, expect, test } from 'vitest';
import { settled } from '../../../../client/src/testing/settled.ts';
import { foldAll } from '../../../../core/src/testing/fold-all.ts';
import { outlineReply } from '../../../../server/src/inspection/task-outline.ts';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { numberedRecords } from '../../testing/records.ts';
import { InspectedSession } from './inspected-session.ts';

/** Returns the records of several runs with four turns each. */
function longLog(runs: number) {
  const ids = countingIds();
  const reads = Array.from({ length: runs }, (_, run) =>
    recordedRun(4, ids, { firstTurn: 4 * run + 1, name: `run-${run}` }),
  );
  return numberedRecords(reads.flat());
}

/** Opens a session at an offset, and counts the records that are read. */
async function openAt(runs: number, at: number | undefined) {
  const records = longLog(runs);
  const reply = outlineReply(foldOutline(emptyOutline, records));
  const outline = { task_id: 'test', is_whole: true, ...reply } as TaskOutline;
  const seen = { records: 0, subscribers: 0 };
  const task = {
    subscribe: () => {
      seen.subscribers++;
      return () => {};
    },
    outline: async () => outline,
    records: async (from: number, { limit = 5000 }: { limit?: number | undefined }) => {
      const page = records.slice(from, from + Math.min(limit, 5000));
      seen.records += page.length;
      return { after: from, through: page.at(-1)?.offset ?? from, records: page };
    },
  };
  const client = { task: () => task } as unknown as Client;
  const session = new InspectedSession({ client, taskId: 'test', clock: new TestClock(), at });
  const unsubscribe = session.subscribe(() => {});
  const settle = async () => {
    for (let round = 0; round < 20; round++) await settled();
  };
  await settle();
  return { records, session, seen, settle, unsubscribe };
}

describe('the records of a long session', () => {
  test('are read around the selected one', async () => {
    const { records, session, seen } = await openAt(150, 18_000);
    expect(records.length).toBeGreaterThan(20_000);
    const { model, isPart, status } = session.now();
    expect([isPart, model.hasStates, status.state]).toEqual([true, true, 'current']);
    expect(model.records.map(({ offset }) => offset)).toContain(18_000);
    expect(seen.records).toBeLessThan(2000);
    expect(seen.subscribers).toBe(0);
    // The state in the window is exact. It lacks only the items of earlier runs.
    const items = toArray(model.checkpoints.stateAt(18_000).items);
    const all = toArray(foldAll(records.slice(0, 18_000)).items);
    expect(items.length).toBeGreaterThan(2);
    expect(items).toEqual(all.slice(-items.length));
  });

  test('are read in another window if the user selects a record outside', async () => {
    const { session, seen, settle } = await openAt(150, 18_000);
    const before = seen.records;
    session.show(10);
    await settle();
    expect(session.now().model.records[0]?.offset).toBe(1);
    session.show(11);
    await settle();
    const after = seen.records;
    expect(after - before).toBeLessThan(2000);
    session.show(undefined);
    await settle();
    expect(session.now().model.records.at(-1)?.offset).toBe(session.now().outline?.through);
    expect(seen.records - after).toBeLessThan(2000);
  });

  test('are read on near the end of the window', async () => {
    const { session, settle } = await openAt(150, 5000);
    const { through, model } = session.now();
    session.show(through - 5);
    await settle();
    expect(session.now().model).toBe(model);
    expect(session.now().through).toBeGreaterThan(through);
  });
});

test('a short session is read as a whole, and its stream is followed', async () => {
  const { records, session, seen } = await openAt(3, 20);
  expect(session.now()).toMatchObject({ isPart: false, count: records.length });
  expect(seen).toEqual({ records: records.length, subscribers: 1 });
});
