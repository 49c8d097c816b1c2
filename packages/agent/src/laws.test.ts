import { transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull, runs } from '../../core/src/testing/runs.ts';
import { findLogProblems } from './testing/check-log.ts';
import { resumeAt, runSchedule, schedules, session } from './testing/schedules.ts';

test('laws 6, 7 and 10: for random schedules the log is valid, every call has one result, every execution one end', async () => {
  const stops = new Set<string>();
  await fc.assert(
    fc.asyncProperty(schedules, async (plan) => {
      const { result, log, records, told, ran } = await runSchedule(plan);
      expect(findLogProblems(session, records)).toEqual([]);
      expect(told).toEqual(records);
      // No tool with effects ran twice, or ran for a superseded answer.
      const state = await snapshot(log, session);
      const calls = transcript(state).flatMap(({ parts }) =>
        parts.flatMap((part) => (part.kind === 'tool_call' ? part : [])),
      );
      for (const { toolCallId: id, name } of calls)
        if (name === 'do' || name === 'ask') expect(ran.get(id) ?? 0).toBeLessThanOrEqual(1);
      stops.add(result.stop.reason);
    }),
  );
  if (isFull) expect([...stops]).toEqual(expect.arrayContaining(['stop', 'aborted', 'error']));
});

test('law 12: the same seed gives the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (plan) => {
      const [one, other] = [await runSchedule(plan), await runSchedule(plan)];
      expect(other.records).toEqual(one.records);
    }),
    { numRuns: runs(100) },
  );
});

test('law 8: a session cut at any record can be resumed: nothing is lost, and nothing with effects runs twice', async () => {
  await fc.assert(
    fc.asyncProperty(
      schedules,
      fc.nat(),
      fc.constantFrom('keep', 'retry'),
      async (plan, at, onInterrupted) => {
        const { before, all, ran, into } = await resumeAt(plan, at, onInterrupted);
        expect(findLogProblems(into, all)).toEqual([]);
        expect(all.slice(0, before.length)).toEqual(before);
        const started = before.flatMap(({ fact }) =>
          fact?.type === 'tool_execution_started' ? fact.toolCallId : [],
        );
        for (const id of started) expect(ran.has(id)).toBe(false);
      },
    ),
  );
});
