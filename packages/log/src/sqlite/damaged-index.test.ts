import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isMillraceError } from '@millrace/core';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { wholeItem } from '../suite/drafts.ts';
import { sqliteLog } from './sqlite-log.ts';

// SQLite's pages have no checksums. The rows of the log have one, and an index has none.

const folder = mkdtempSync(join(tmpdir(), 'millrace-index-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const original = join(folder, 'original.db');
const names = Array.from({ length: 8 }, (_, index) => `session ${index}`);
let hash = '';
let count = 0;
let pageBytes = 0;

beforeAll(async () => {
  const log = sqliteLog({ path: original });
  const blob = await log.blobs.put(Uint8Array.of(1, 2, 3));
  ({ hash } = blob);
  const part = { kind: 'media', mimeType: 'image/png', source: { type: 'blob', ...blob } } as const;
  for (const name of names) {
    const driver = await log.open(name);
    await driver.append(wholeItem('i', part));
    await driver.release();
  }
  await log.close();
  const database = new DatabaseSync(original, { readOnly: true });
  pageBytes = Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
  database.close();
});

function pageOf(index: string): number {
  const database = new DatabaseSync(original, { readOnly: true });
  const found = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(index);
  database.close();
  return Number(found?.['rootpage']);
}

/** Changes one bit of an index and calls the function with the damaged copy. */
async function withChangedBit(
  page: number,
  [place, bit]: readonly [number, number],
  use: (path: string) => Promise<void>,
): Promise<void> {
  const path = join(folder, `damaged ${++count}.db`);
  copyFileSync(`${original}-mark`, `${path}-mark`);
  const bytes = readFileSync(original);
  const at = (page - 1) * pageBytes + Math.floor(place * pageBytes);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  writeFileSync(path, bytes);
  await use(path);
}

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const change = fc.tuple(place, fc.integer({ min: 0, max: 7 }));

/** Returns the result of a call, or the code of its error. */
const outcomeOf = (call: () => Promise<unknown>): Promise<unknown> =>
  call().catch((error: unknown) => (isMillraceError(error) ? error.code : error));

test('21.G: a session that damage hides from the index of ids is not reported as missing', async () => {
  const page = pageOf('sqlite_autoindex_log_sessions_1');
  let damaged = 0;
  const check = async (path: string) => {
    const log = sqliteLog({ path });
    for (const name of names) {
      const through = await outcomeOf(async () => (await log.info(name))?.through ?? 'missing');
      expect([3, 'corrupt']).toContain(through);
      if (through === 3) continue;
      damaged++;
      // It is not created again either.
      expect(await outcomeOf(() => log.open(name))).toBe('corrupt');
      expect(await outcomeOf(() => log.submit(name, {}, 'key'))).toBe('corrupt');
    }
    await log.close();
  };
  await fc.assert(
    fc.asyncProperty(change, async (at) => {
      const opened = await outcomeOf(() => withChangedBit(page, at, check));
      expect([undefined, 'corrupt']).toContain(opened);
    }),
    // The last entry is at the end of the page, so one of the examples changes an id.
    { numRuns: runs(200), examples: [[[0.999, 0]], [[0.001953125, 4]]] },
  );
  expect(damaged).toBeGreaterThan(0);
});

test('21.G: a blob that damage hides is not reported as missing', async () => {
  const page = pageOf('sqlite_autoindex_blobs_1');
  const check = async (path: string) => {
    const log = sqliteLog({ path });
    const length = await outcomeOf(async () => (await log.blobs.get(hash))?.length ?? 'missing');
    expect([3, 'corrupt']).toContain(length);
    await log.close();
  };
  // The entry is at the end of the page.
  const bits = Array.from({ length: 10 }, (_, index) => index * 53);
  for (const bit of bits)
    await withChangedBit(page, [1 - (1 + Math.floor(bit / 8)) / pageBytes, bit % 8], check);
});
