import { type LogRecord, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { plantDivergence, withCountedRequests } from '../testing/planted-logs.ts';
import { runSchedule, schedules } from '../testing/schedules.ts';
import { diffSessions } from './diff-sessions.ts';

/** Stores both logs and compares them. */
async function diffOf(a: readonly LogRecord[], b: readonly LogRecord[]) {
  const log = memoryLog();
  await log.restore('a', a);
  await log.restore('b', b);
  return diffSessions({ log, session: 'a' }, { log, session: 'b' });
}

const numbers = fc.array(fc.nat(0xffff), { minLength: 20, maxLength: 200, size: 'max' });

test('the diff of random runs names exactly the planted record and its cause', async () => {
  const causes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(schedules, numbers, async (plan, choices) => {
      const a = withCountedRequests((await runSchedule(plan)).records);
      const { records, planted } = plantDivergence(a, choices, true);
      const { divergence } = await diffOf(a, records);
      expect({
        a: divergence?.a?.offset,
        b: divergence?.b?.offset,
        cause: divergence?.cause,
      }).toEqual(planted);
      causes.add(planted?.cause ?? 'none');
    }),
    { numRuns: runs(1000), endOnFailure: true },
  );
  if (runs(1000) >= 1000)
    expect([...causes].sort()).toEqual(['answer', 'command', 'request', 'setting', 'tool_result']);
});

test('runs with other ids, times and pieces are the same', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, numbers, async (plan, choices) => {
      const a = withCountedRequests((await runSchedule(plan)).records);
      const { records } = plantDivergence(a, choices, false);
      const diff = await diffOf(a, records);
      expect(diff.divergence?.message).toBeUndefined();
      expect(diff.differenceCount).toBe(0);
      expect(diff.turns.every(({ isSame }) => isSame)).toBe(true);
      expect(diff.a.usage).toEqual(diff.b.usage);
    }),
    { numRuns: runs(300), endOnFailure: true },
  );
});

test('a session and its settled copy are the same', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (plan) => {
      const { log, records } = await runSchedule(plan);
      await log.restore('copy', records);
      const last = records.reduce((most, { turn }) => Math.max(most, turn), 0);
      for (let turn = 1; turn <= last; turn++) await log.settle('copy', turn);
      const session = sessionId('s');
      const diff = await diffSessions({ log, session }, { log, session: 'copy' });
      expect(diff.divergence?.message).toBeUndefined();
    }),
    { numRuns: runs(300), endOnFailure: true },
  );
});
