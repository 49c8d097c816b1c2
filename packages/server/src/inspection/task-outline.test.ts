import { countingIds, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { taskOutlineSchema } from '../contract/inspection.ts';
import { appendBatches, recordedRun } from '../testing/recorded-run.ts';
import { outlineCacheFor, outlineReply } from './task-outline.ts';

/** A log that counts the records that are read from it. */
function countingLog() {
  const log = memoryLog();
  let records = 0;
  const counting = {
    ...log,
    info: log.info.bind(log),
    async read(...given: Parameters<typeof log.read>) {
      const page = await log.read(...given);
      records += page.records.length;
      return page;
    },
  } as typeof log;
  const countReads = async (work: () => Promise<unknown>) => {
    const before = records;
    await work();
    return records - before;
  };
  return { log, counting, countReads };
}

test('a second outline reads only the new records, and the reply is as documented', async () => {
  const { log, counting, countReads } = countingLog();
  const session = sessionId('long');
  const ids = countingIds();
  const runAt = (index: number) =>
    appendBatches(
      log,
      session,
      recordedRun(2, ids, { firstTurn: 2 * index + 1, name: `r${index}` }),
    );
  for (let index = 0; index < 40; index++) await runAt(index);
  const outlines = outlineCacheFor(counting);
  const read = () => outlines.read(session);
  const first = await countReads(read);
  expect(first).toBeGreaterThan(1000);
  expect(await countReads(read)).toBe(0);
  await runAt(40);
  expect(await countReads(read)).toBeLessThan(first / 30);
  const { state, isWhole } = await read();
  const reply = { task_id: session, is_whole: isWhole, ...outlineReply(state) };
  expect(taskOutlineSchema.strict().parse(reply)).toEqual(reply);
  expect(reply.segments.reduce((sum, { turns }) => sum + turns, 0)).toBe(82);
  expect(JSON.stringify(reply)).not.toContain('weather');
  await log.close();
});
