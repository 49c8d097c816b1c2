import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { isFull, patientMs } from '../../../core/src/testing/runs.ts';
import { checkModel, checkResume, requiredOutcomes, TestClock, toScript } from '../suite/index.ts';
import { draftNumbers, number, steps } from '../testing/law-runs.ts';
import { memoryLog } from './memory-log.ts';

/** Shrinking a failing run takes long, but it is worth it. */
const shrinkingMs = patientMs(600_000);

describe('the memory log', () => {
  test(
    'laws 1, 3, 4, 5 and 9: behaves like the reference in random runs',
    async () => {
      const seen = new Set<string>();
      await fc.assert(
        fc.asyncProperty(steps, draftNumbers, async (run, numbers) => {
          const clock = new TestClock();
          const store = { open: async () => memoryLog({ clock }), remove: async () => {} };
          const script = toScript(randomLog(numbers));
          const options = { store, isDurable: false, clock, name: 'run', script };
          await checkModel(options, run, (what) => seen.add(what));
        }),
      );
      if (isFull) expect([...seen]).toEqual(expect.arrayContaining([...requiredOutcomes]));
    },
    shrinkingMs,
  );

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])(
    'law 5: a reader that stops at any batch and resumes ends with the same state, where %s',
    async (_, isSettled) => {
      await fc.assert(
        fc.asyncProperty(
          draftNumbers,
          fc.array(number, { minLength: 1 }),
          async (draftSeed, numbers) => {
            const log = memoryLog({ clock: new TestClock() });
            const script = toScript(randomLog(draftSeed));
            await checkResume({ log, session: sessionId('s'), script, numbers, isSettled });
            await log.close();
          },
        ),
      );
    },
  );
});
