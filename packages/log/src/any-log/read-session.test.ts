import { type DraftRecord, isCut, runId, sessionId, stateAfterRun } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { countingLog } from '../testing/counting-log.ts';
import { readBackward, readRecords } from './read-session.ts';
import { findRunEnd } from './run-ends.ts';

const session = sessionId('s');

/** Returns the records of a run with one turn, which has this many errors in it. */
function runOf(number: number, errors: number, reason: 'stop' | 'parked' = 'stop'): DraftRecord[] {
  const id = runId(`run${number}`);
  const error = { code: 'overloaded', message: 'Try again' };
  const stop = { reason } as const;
  const at = { turn: number, attempt: 0 };
  const reported = { ...at, fact: { type: 'error_reported', error } } as const;
  return [
    { turn: 0, attempt: 0, fact: { type: 'run_started', runId: id } },
    { ...at, fact: { type: 'turn_started' } },
    ...Array.from({ length: errors }, () => reported),
    ...(reason === 'parked' ? [] : [{ ...at, fact: { type: 'turn_finished', stop } } as const]),
    { turn: 0, attempt: 0, fact: { type: 'run_finished', runId: id, stop } },
  ];
}

async function logOf(batches: readonly (readonly DraftRecord[])[]) {
  const { log, take } = countingLog(memoryLog());
  const driver = await log.open(session);
  for (const batch of batches) await driver.append(batch);
  await driver.release();
  take();
  return { log, take, through: (await log.info(session))?.through ?? 0 };
}

test('readRecords yields every record once, in order', async () => {
  const { log, through } = await logOf([runOf(1, 12_000), runOf(2, 3)]);
  const offsets: number[] = [];
  for await (const { offset } of readRecords(log, session)) offsets.push(offset);
  expect(offsets).toEqual(Array.from({ length: through }, (_, index) => index + 1));
  const missing = readRecords(log, 'unknown').next();
  await expect(missing).rejects.toMatchObject({ code: 'no_session' });
});

describe('readBackward', () => {
  test('yields the same records as readRecords, from the end, over random ranges', async () => {
    const { log, through } = await logOf([runOf(1, 3000)]);
    const bounds = fc.record({
      through: fc.option(fc.nat({ max: through + 100 }), { nil: undefined }),
      maxRecords: fc.option(fc.nat({ max: through + 100 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(bounds, async (options) => {
        const ranges: number[][] = [];
        for await (const range of readBackward(log, session, options))
          ranges.unshift(range.map(({ offset }) => offset));
        const end = Math.min(options.through ?? through, through);
        const first = Math.max(0, end - (options.maxRecords ?? through));
        const expected = Array.from({ length: end - first }, (_, index) => first + index + 1);
        expect(ranges.flat()).toEqual(expected);
      }),
      { numRuns: runs(50) },
    );
  });

  test('21.F law 18: finds a recent record at the same cost in a long session', async () => {
    const costOf = async (errors: number) => {
      const { log, take } = await logOf([runOf(1, errors), runOf(2, 100)]);
      for await (const range of readBackward(log, session))
        if (range.some(({ fact }) => fact?.type === 'run_started')) break;
      return take();
    };
    const [short, long] = [await costOf(11_000), await costOf(50_000)];
    expect(long).toEqual(short);
  });
});

describe('findRunEnd', () => {
  test('finds the last run that left nothing open', async () => {
    const { log, through } = await logOf([runOf(1, 2000), runOf(2, 2000), runOf(3, 2, 'parked')]);
    const end = through - 5;
    expect(await findRunEnd(log, session, { through })).toBe(end);
    expect(await findRunEnd(log, session, { through: end - 1 })).toBe(end - 2004);
    expect(await findRunEnd(log, session, { through: 100 })).toBeUndefined();
    expect(await findRunEnd(log, session, { from: end, through })).toBeUndefined();
    const state = stateAfterRun(session, end);
    expect([state.through, isCut(state.items)]).toEqual([end, true]);
  });
});
