import { type LogRecord, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { plantDivergence, withCountedRequests } from '../testing/planted-logs.ts';
import { resumeAt, runSchedule, schedules } from '../testing/schedules.ts';
import { diffSessions } from './diff-sessions.ts';
import { findDivergence } from './find-divergence.ts';

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
      // The order of the two sessions does not matter.
      const mirrored = (await diffOf(records, a)).divergence;
      expect(mirrored?.a?.offset).toBe(planted?.b);
      expect(mirrored?.b?.offset).toBe(planted?.a);
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

/** The cut is after the progress of the first call. The result of the call replaces its progress. */
const cutAfterProgress = {
  responses: [
    {
      ...({ text: '', fault: 'none', after: 0 } as const),
      calls: [
        { tool: 'look', ms: 116, ends: 'well', updates: 1 },
        { tool: 'look', ms: 346, ends: 'well', updates: 0 },
      ] as const,
    },
  ],
  events: [{ atMs: 2700, what: 'abort' as const }],
};

test('a fork that another agent continues differs only after the copied records', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, fc.nat(), async (plan, at) => {
      const { before, log } = await resumeAt(plan, at, 'keep');
      const sources = [
        { log, session: 's' },
        { log, session: 'cut' },
      ] as const;
      const { differences, divergence } = await diffSessions(...sources);
      expect(await findDivergence(...sources)).toEqual(divergence);
      // A copied command takes effect after the copied records.
      for (const { a, b, message } of differences)
        for (const side of [a, b])
          if (side !== undefined && side.type !== 'command_queued')
            expect(side.offset, message).toBeGreaterThan(before.length);
    }),
    { numRuns: runs(300), endOnFailure: true, examples: [[cutAfterProgress, 50]] },
  );
});

test('any legal log is equal to itself', async () => {
  await fc.assert(
    fc.asyncProperty(numbers, async (choices) => {
      const records = randomLog(choices);
      expect((await diffOf(records, records)).differenceCount).toBe(0);
    }),
    { numRuns: runs(300), endOnFailure: true },
  );
});

test('the start of a run has no other content than the run', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, fc.nat(), async (plan, cut) => {
      const { records } = await runSchedule(plan);
      const { differences } = await diffOf(records.slice(0, cut % (records.length + 1)), records);
      // A command that waits at the cut takes effect later in the whole run.
      for (const { a, b, message } of differences)
        if (a?.type !== 'command_queued')
          expect(a?.offset ?? 0, message).toBeLessThanOrEqual(b?.offset ?? 0);
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
