import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type LogSubject, landmarks, logCases } from '../suite/index.ts';
import { modelRuns, resumeRuns } from '../testing/law-runs.ts';
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

describe('the SQLite log', () => {
  test('laws 1, 3, 4, 5 and 9: is what the reference is, whatever is done to it, through two logs', async () => {
    const seen = await modelRuns(sqlite);
    expect(seen).toEqual(expect.arrayContaining([...landmarks, 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])('law 5: who is cut at any batch and resumes has the same, where %s', (_, isSettled) =>
    resumeRuns(sqlite, { isSettled }),
  );
});
