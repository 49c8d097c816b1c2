import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { durableObjectLog } from '../durable-object/durable-object-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { markers } from '../suite/drafts.ts';
import { durableObjectStorage } from './durable-object-storage.ts';
import { type LogContents, readContents } from './version-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-versions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fixture = (name: string) =>
  readFileSync(join(import.meta.dirname, 'fixtures/version-1', name));

/** Unpacks a stored file of an earlier version. Returns its path. */
function unpack(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, gunzipSync(fixture(`${name}.gz`)));
  return path;
}

const contentsOf = (name: string) => JSON.parse(fixture(name).toString()) as LogContents;

async function canContinue(log: Log): Promise<void> {
  const driver = await log.open('chat', { takeOver: true });
  const { through } = await driver.append(markers(2));
  expect((await log.info('chat'))?.through).toBe(through);
  expect(await log.submit('chat', { type: 'abort' }, 'key 2')).toMatchObject({ isRepeat: true });
  await driver.release();
}

test('a SQLite file of version 1 opens, has the same content, and can be continued', async () => {
  const path = unpack('sqlite.db');
  for (let times = 0; times < 2; times++) {
    const log = sqliteLog({ path });
    const contents = await readContents(log);
    if (times === 0) expect(contents).toEqual(contentsOf('sqlite.json'));
    await canContinue(log);
    await log.close();
  }
  const database = new DatabaseSync(path, { readOnly: true });
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 });
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  database.close();
});

test('a Durable Object of version 1 opens, has the same content, and can be continued', async () => {
  const { storage, database } = durableObjectStorage(unpack('durable-object.db'));
  const log = durableObjectLog({ storage });
  expect(await readContents(log)).toEqual(contentsOf('durable-object.json'));
  await canContinue(log);
  await log.close();
  database.close();
});
