import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { encodeRecord, sessionId } from '@millrace/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommitPoint, commitPoints } from '../storage/record-store.ts';
import { wholeItem, wholeTurn } from '../suite/drafts.ts';
import { readAll } from '../suite/follower.ts';
import { type Rewrite, rewrites } from '../testing/programs/rewrite-and-crash.ts';
import { startProcess } from '../testing/start-process.ts';
import { sqliteLog } from './sqlite-log.ts';

let folder: string;
const original = () => join(folder, 'original.db');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rewrite-kills-'));
  const log = sqliteLog({ path: original() });
  const driver = await log.open(sessionId('s'));
  const { hash, length } = await log.blobs.put(Uint8Array.of(1, 2, 3));
  const source = { type: 'blob', hash, length } as const;
  await driver.append(wholeItem('picture', { kind: 'media', mimeType: 'a/b', source }));
  await log.submit(sessionId('s'), { say: 'hello' }, 'waits');
  await driver.append(wholeTurn(1, ['a', 'b', 'c']));
  const long = await log.open(sessionId('long'));
  for (let at = 1; at <= 12; at++)
    await long.append(wholeItem(`item ${at}`, { kind: 'text', text: 'words '.repeat(17_000) }));
  await long.release();
  await log.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The whole content of a file, except times. */
async function contents(path: string): Promise<unknown> {
  const log = sqliteLog({ path });
  const sessions = await log.list();
  const text = await Promise.all(
    sessions.map(async ({ session, through, hasWork, origin }) => {
      const records = await readAll(log, session);
      const lines = records.map((record) => encodeRecord({ ...record, time: 0 }));
      return { session, through, hasWork, origin, lines };
    }),
  );
  await log.close();
  const database = new DatabaseSync(path);
  const blobs = database.prepare('SELECT hash FROM blobs ORDER BY hash').all();
  const uses = database.prepare('SELECT * FROM blob_uses ORDER BY session, hash').all();
  const holds = database.prepare('SELECT hash FROM blob_holds ORDER BY hash').all();
  const integrity = database.prepare('PRAGMA integrity_check').all();
  database.close();
  return { said: text, blobs, uses, holds, integrity };
}

function copy(name: string): string {
  const path = join(folder, `${name}.db`);
  cpSync(original(), path);
  return path;
}

const isCommitted = (point: CommitPoint): boolean =>
  commitPoints.indexOf(point) >= commitPoints.indexOf('after-commit');

/** A fork of a long session has several transactions, so it has its own test. */
const oneTransaction = (Object.keys(rewrites) as Rewrite[]).filter(
  (what) => what !== 'fork a long session',
);

describe.each(oneTransaction)('a log whose process is killed during: %s', (what) => {
  /** Only operations that insert records reach this point. Storing a blob and deleting do not. */
  const points = commitPoints.filter((point) => point !== 'after-insert' || what === 'redact');

  test.each(points)('has all of it or nothing, at %s', async (point) => {
    const path = copy(`${what} ${point}`);
    const program = new URL('../testing/programs/rewrite-and-crash.ts', import.meta.url);
    const { exit } = startProcess(program, { args: [path, what, point], onMessage: () => {} });
    expect((await exit).signal).toBe('SIGKILL');
    const done = copy(`${what} whole ${point}`);
    const log = sqliteLog({ path: done });
    if (isCommitted(point)) await rewrites[what](log);
    await log.close();
    expect(await contents(path)).toEqual(await contents(done));
    if (isCommitted(point)) expect(await contents(path)).not.toEqual(await contents(original()));
  });
});

describe('a log whose process is killed during a fork of a long session', () => {
  const what = 'fork a long session';

  async function killAt(point: CommitPoint, which: number) {
    const path = copy(`${what} ${point} ${which}`);
    const program = new URL('../testing/programs/rewrite-and-crash.ts', import.meta.url);
    const args = [path, what, point, String(which)];
    const { exit } = startProcess(program, { args, onMessage: () => {} });
    return { path, signal: (await exit).signal };
  }

  test('18.452: attack: has the whole fork or nothing of it, at each commit', async () => {
    const before = await contents(original());
    const whole = copy('whole long fork');
    const log = sqliteLog({ path: whole });
    await rewrites[what](log);
    await log.close();
    const after = (await contents(whole)) as { readonly said: readonly unknown[] };
    const outcomes: string[] = [];
    for (let which = 1; ; which++) {
      const { path, signal } = await killAt('after-commit', which);
      if (signal === null) break;
      // The log removes the rest of the copy when it is opened.
      const opened = sqliteLog({ path });
      await opened.vacuum();
      await opened.close();
      const found = (await contents(path)) as { readonly said: readonly unknown[] };
      const isWhole = found.said.length > 2;
      outcomes.push(isWhole ? 'whole' : 'nothing');
      expect(isWhole ? found.said : found).toEqual(isWhole ? after.said : before);
    }
    // Only the last transaction makes the fork visible.
    expect(outcomes.length).toBeGreaterThan(4);
    expect(new Set(outcomes.slice(0, -1))).toEqual(new Set(['nothing']));
    expect(outcomes.at(-1)).toBe('whole');
  });

  test('has no rows of the fork after the next fork', async () => {
    const { path, signal } = await killAt('before-commit', 3);
    expect(signal).toBe('SIGKILL');
    const rows = () => {
      const database = new DatabaseSync(path);
      const found = database.prepare('SELECT id FROM log_sessions ORDER BY id').all();
      const chunks = database.prepare('SELECT DISTINCT session FROM chunks').all();
      database.close();
      return { ids: found.map(({ id }) => id), owners: chunks.length };
    };
    expect(rows().ids).toHaveLength(3);
    const log = sqliteLog({ path });
    await rewrites[what](log);
    await log.close();
    expect(rows()).toEqual({ ids: ['fork', 'long', 's'], owners: 3 });
  });
});
