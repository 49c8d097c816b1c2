import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import { type LogSubject, logCases, requiredOutcomes } from '../suite/index.ts';
import { modelRuns, resumeRuns } from '../testing/law-runs.ts';
import { sqliteLog } from './sqlite-log.ts';

const sqlite: LogSubject = {
  isDurable: true,
  async create(clock) {
    const folder = await mkdtemp(join(storeTmpdir(), 'millrace-suite-'));
    return {
      open: async () => sqliteLog({ path: join(folder, 'log.sqlite'), clock }),
      remove: () => rm(folder, { recursive: true }),
    };
  },
};

describe('the SQLite log passes the conformance suite', () => {
  for (const { name, run } of logCases(sqlite)) test(name, run);
});

describe('the SQLite log', () => {
  test('laws 1, 3, 4, 5 and 9: two logs behave like the reference in random runs', async () => {
    const seen = await modelRuns(sqlite);
    const required = isFull ? requiredOutcomes : ['append: done'];
    expect(seen).toEqual(expect.arrayContaining([...required, 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])(
    'law 5: a reader that stops at any batch and resumes ends with the same state, where %s',
    (_, isSettled) => resumeRuns(sqlite, { isSettled }),
  );
});
