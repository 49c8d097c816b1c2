import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import {
  checkModel,
  checkResume,
  type LogSubject,
  landmarks,
  logCases,
  scriptOf,
  TestClock,
} from '../suite/index.ts';
import { sqliteLog } from './sqlite-log.ts';

const sqlite: LogSubject = {
  isDurable: true,
  async create(clock) {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-suite-'));
    return {
      open: async () => sqliteLog({ path: join(folder, 'log.sqlite'), clock }),
      remove: () => rm(folder, { recursive: true }),
    };
  },
};

describe('the SQLite log keeps the contract', () => {
  for (const { name, run } of logCases(sqlite)) test(name, run);
});

const number = fc.nat(0xffff);
const step = fc.tuple(number, number, number);
const steps = fc.array(step, { minLength: 10, maxLength: 50, size: 'max' });
const words = fc.array(number, { minLength: 50, maxLength: 300, size: 'max' });

describe('the SQLite log', () => {
  test('laws 1, 3, 4, 5 and 9: is what the reference is, whatever is done to it, through two logs', async () => {
    const seen = new Set<string>();
    const clock = new TestClock();
    // One file for all runs, each of which leaves it empty: that is how files are used.
    const store = await sqlite.create(clock);
    // Held open, because who closes a file last cleans up, which takes its time.
    const first = await store.open();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(steps, words, async (run, said) => {
        const script = scriptOf(randomLog(said));
        const options = { store, isDurable: true, clock, name: `run ${runs++}`, script };
        await checkModel(options, run, (what) => seen.add(what));
      }),
      // What fails is mostly found smaller with the log in memory, and here it takes long.
      { endOnFailure: true },
    );
    await first.close();
    await store.remove();
    expect([...seen]).toEqual(expect.arrayContaining([...landmarks, 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])('law 5: who is cut at any batch and resumes has the same, where %s', async (_, isSettled) => {
    const store = await sqlite.create(new TestClock());
    const log = await store.open();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(words, fc.array(number, { minLength: 1 }), async (said, numbers) => {
        const session = sessionId(`run ${runs++}`);
        const script = scriptOf(randomLog(said));
        await checkResume({ log, session, script, numbers, isSettled });
        await log.delete(session);
      }),
    );
    await log.close();
    await store.remove();
  });
});
