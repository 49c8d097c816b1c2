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
import { type LogContents, longBlob, readContents } from './version-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-versions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fixture = (name: string, version: number) =>
  readFileSync(join(import.meta.dirname, `fixtures/version-${version}`, name));

/**
 * Unpacks a stored file of an earlier version. Returns its path. The file has no mark, so a file of version 2
 * counts as replaced, and its lease is no longer valid.
 */
function unpack(name: string, version = 1): string {
  const path = join(folder, `${version}-${name}`);
  writeFileSync(path, gunzipSync(fixture(`${name}.gz`, version)));
  return path;
}

const contentsOf = (name: string, version = 1) =>
  JSON.parse(fixture(name, version).toString()) as LogContents;

async function canContinue(log: Log): Promise<void> {
  const driver = await log.open('chat', { takeOver: true });
  const { through } = await driver.append(markers(2));
  expect((await log.info('chat'))?.through).toBe(through);
  expect(await log.submit('chat', { type: 'abort' }, 'key 2')).toMatchObject({ isRepeat: true });
  await driver.release();
}

test.each([1, 2])(
  'a SQLite file of version %i opens, has the same content, and can be continued',
  async (version) => {
    const path = unpack('sqlite.db', version);
    for (let times = 0; times < 2; times++) {
      const log = sqliteLog({ path });
      const contents = await readContents(log);
      if (times === 0) expect(contents).toEqual(contentsOf('sqlite.json', version));
      await canContinue(log);
      await log.close();
    }
    const database = new DatabaseSync(path, { readOnly: true });
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 3 });
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    database.close();
  },
);

test('21.D: a long blob of version 1 is read whole, and its first slice moves it into pieces', async () => {
  const path = unpack('sqlite.db');
  const { hash, bytes } = longBlob();
  const before = new DatabaseSync(path);
  before.prepare('INSERT INTO blobs VALUES (?, ?)').run(hash, bytes);
  before.close();
  const log = sqliteLog({ path });
  expect(Buffer.compare((await log.blobs.get(hash)) ?? new Uint8Array(), bytes)).toBe(0);
  for (let times = 0; times < 2; times++) {
    const slice = await log.blobs.slice(hash, 999_990, 2_000_000);
    expect(slice).toEqual(new Uint8Array(bytes.subarray(999_990)));
  }
  expect(Buffer.compare((await log.blobs.get(hash)) ?? new Uint8Array(), bytes)).toBe(0);
  await log.close();
  const after = new DatabaseSync(path, { readOnly: true });
  const pieces = after.prepare('SELECT count(*) AS count FROM blob_pieces WHERE hash = ?');
  expect(pieces.get(hash)).toEqual({ count: 4 });
  const row = after.prepare('SELECT length, length(bytes) AS own FROM blobs WHERE hash = ?');
  expect(row.get(hash)).toEqual({ length: bytes.length, own: 0 });
  after.close();
});

test('a Durable Object of version 1 opens, has the same content, and can be continued', async () => {
  const { storage, database } = durableObjectStorage(unpack('durable-object.db'));
  const log = durableObjectLog({ storage });
  expect(await readContents(log)).toEqual(contentsOf('durable-object.json'));
  await canContinue(log);
  await log.close();
  database.close();
});
