import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  type Batch,
  emptyState,
  foldBatch,
  itemId,
  type LogRecord,
  type SessionId,
  sessionId,
} from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { marker, wholeItem, wholeTurn } from '../suite/drafts.ts';
import { TestClock } from '../suite/test-clock.ts';
import { startRemoteLog } from '../testing/remote-log.ts';
import { IdleCheckpoint } from './maintenance.ts';
import { type SqliteLogOptions, sqliteLog } from './sqlite-log.ts';

const session = sessionId('s');
let folder: string;
let path: string;
const open: Log[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'upkeep-'));
  path = join(folder, 'log.db');
});
afterEach(async () => {
  for (const log of open.splice(0)) await log.close();
  rmSync(folder, { recursive: true });
});

function openLog(options: Partial<SqliteLogOptions> = {}) {
  const log = sqliteLog({ path, commitIntervalMs: 0, ...options });
  open.push(log);
  return log;
}

const journalBytes = () => statSync(`${path}-wal`).size;

async function recordsOf(log: Log, of: SessionId = session): Promise<readonly LogRecord[]> {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

test('25: only the owner can read a new file, the files beside it and a backup', async () => {
  const log = openLog();
  await (await log.open(session)).append([marker('a')]);
  const copy = join(folder, 'copy.db');
  await log.backup(copy);
  const modes = readdirSync(folder).map((name) => [
    name,
    statSync(join(folder, name)).mode & 0o777,
  ]);
  expect(modes).toEqual(
    ['copy.db', 'log.db', 'log.db-mark', 'log.db-shm', 'log.db-wal'].map((name) => [name, 0o600]),
  );
});

describe('the WAL', () => {
  test('is truncated by an explicit checkpoint', async () => {
    const log = openLog();
    const driver = await log.open(session);
    await driver.append([marker('a')]);
    expect(journalBytes()).toBeGreaterThan(0);
    expect(await log.checkpoint()).toBe(true);
    expect(journalBytes()).toBe(0);
    expect(await recordsOf(log)).toHaveLength(1);
  });

  test('is not truncated during a read, without waiting, and is truncated afterwards', async () => {
    const log = openLog();
    const driver = await log.open(session);
    await driver.append([marker('a')]);
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM chunks');
    await driver.append([marker('b')]);
    expect(await log.checkpoint()).toBe(false);
    expect(journalBytes()).toBeGreaterThan(0);
    reader.close();
    expect(await log.checkpoint()).toBe(true);
    expect(journalBytes()).toBe(0);
  });

  test('is truncated after a period without writes, and not before', async () => {
    const clock = new TestClock();
    const log = openLog({ clock });
    const driver = await log.open(session, { leaseMs: Number.POSITIVE_INFINITY });
    for (let second = 0; second < 5; second++) {
      await driver.append([marker('a')]);
      await clock.advance(1000);
      expect(journalBytes()).toBeGreaterThan(0);
    }
    await clock.advance(3000);
    expect(journalBytes()).toBe(0);
    await driver.append([marker('b')]);
    expect(journalBytes()).toBeGreaterThan(0);
    await clock.advance(4000);
    expect(journalBytes()).toBe(0);
  });

  test('is truncated later if a read is running', async () => {
    const clock = new TestClock();
    const driver = await openLog({ clock }).open(session, { leaseMs: Number.POSITIVE_INFINITY });
    await driver.append([marker('a')]);
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM chunks');
    await driver.append([marker('b')]);
    await clock.advance(10_000);
    expect(journalBytes()).toBeGreaterThan(0);
    reader.close();
    await clock.advance(10_000);
    expect(journalBytes()).toBe(0);
  });

  test('stays near its size limit, for any amount of writes and followers', async () => {
    const log = openLog();
    const driver = await log.open(session);
    await driver.append([marker('first')]);
    const controller = new AbortController();
    const stalled: AsyncIterator<Batch>[] = [];
    let received = 0;
    const readers = Array.from({ length: 200 }, async (_, index) => {
      const batches = log.follow(session, { signal: controller.signal });
      const reader = batches[Symbol.asyncIterator]();
      await reader.next();
      if (index % 2 === 0) return void stalled.push(reader);
      for (let next = await reader.next(); !next.done; next = await reader.next()) received++;
    });
    // Some readers are in another process, whose reads this process cannot see.
    const there = await startRemoteLog(path);
    for (let count = 0; count < 10; count++) await there.call('follow', 's', {});
    let longest = 0;
    const text = 'x'.repeat(50_000);
    for (let turn = 1; turn <= 400; turn++) {
      await driver.append(wholeTurn(turn, [text, text]));
      longest = Math.max(longest, journalBytes());
    }
    expect(statSync(path).size).toBeGreaterThan(30_000_000);
    expect(longest).toBeLessThan(12_000_000);
    controller.abort();
    await Promise.all(readers);
    for (const reader of stalled) await reader.return?.();
    expect(received).toBeGreaterThan(0);
    await there[Symbol.asyncDispose]();
  });
});

describe('removed content', () => {
  const secret = 'the order was paid with card 1';

  const isAnywhere = () =>
    readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(secret));

  test.each([
    ['an item that was redacted', (log: Log) => log.redact(session, itemId('i'))],
    ['a session that was deleted', (log: Log) => log.delete(session)],
  ])('is not in the file any more, after %s', async (_what, takeOut) => {
    const log = openLog();
    const driver = await log.open(session);
    await driver.append(wholeItem('i', { kind: 'text', text: `${secret} `.repeat(1000) }));
    await driver.append(wholeItem('j', { kind: 'text', text: 'other' }));
    await log.checkpoint();
    expect(isAnywhere()).toBe(true);
    await takeOut(log);
    expect(isAnywhere()).toBe(false);
  });

  test('leaves no row of a deleted session in any table', async () => {
    const log = openLog();
    const driver = await log.open(session);
    const { hash, length } = await log.blobs.put(Uint8Array.of(1));
    const source = { type: 'blob', hash, length } as const;
    await driver.append(wholeItem('i', { kind: 'media', mimeType: 'a/b', source }));
    await log.submit(session, {}, secret);
    await log.produce(await driver.admit({ for: 'request', turn: 1 }));
    await log.delete(session);
    const database = new DatabaseSync(path, { readOnly: true });
    const tables = [
      'sessions',
      'chunks',
      'producers',
      'commands',
      'blobs',
      'blob_uses',
      'blob_holds',
    ];
    const counts = tables.map((name) =>
      database.prepare(`SELECT count(*) AS n FROM ${name}`).get(),
    );
    database.close();
    expect(counts.map((row) => row?.['n'])).toEqual(tables.map(() => 0));
    expect(isAnywhere()).toBe(false);
  });

  test('is gone once no connection reads, even under load', async () => {
    const clock = new TestClock();
    const log = openLog({ clock });
    const driver = await log.open(session, { leaseMs: Number.POSITIVE_INFINITY });
    await driver.append(wholeItem('i', { kind: 'text', text: `${secret} `.repeat(1000) }));
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM sessions');
    await log.redact(session, itemId('i'));
    const goOn = async () => {
      await driver.append([marker('more')]);
      await clock.advance(1000);
    };
    for (let seconds = 0; seconds < 6; seconds++) await goOn();
    expect(isAnywhere()).toBe(true);
    reader.exec('COMMIT');
    reader.close();
    for (let seconds = 0; seconds < 3; seconds++) await goOn();
    expect(isAnywhere()).toBe(false);
  });

  test('is gone when the log that removed it is closed, even if other logs are open', async () => {
    const other = openLog();
    const driver = await other.open(session);
    await driver.append(wholeItem('i', { kind: 'text', text: `${secret} `.repeat(1000) }));
    await other.checkpoint();
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM sessions');
    const log = openLog({ clock: new TestClock() });
    await log.redact(session, itemId('i'));
    expect(isAnywhere()).toBe(true);
    reader.close();
    await log.close();
    expect(isAnywhere()).toBe(false);
  });

  test('returns its space on vacuum while other logs write', async () => {
    const log = openLog();
    const kept = await log.open(sessionId('kept'));
    const driver = await log.open(session);
    for (let turn = 1; turn <= 100; turn++) {
      await driver.append(wholeTurn(turn, ['x'.repeat(50_000)]));
      await kept.append([marker(`a ${turn}`)]);
    }
    await log.checkpoint();
    const { size } = statSync(path);
    await log.delete(session);
    const freeing = log.vacuum();
    let appends = 0;
    const isDone = freeing.then(() => true);
    while (!(await Promise.race([isDone, new Promise((resolve) => setImmediate(resolve, false))])))
      appends = (await kept.append([marker('b')])).through - 100;
    expect(await freeing).toBeGreaterThan(4_500_000);
    expect(appends).toBeGreaterThan(3);
    await log.checkpoint();
    expect(statSync(path).size).toBeLessThan(size / 10);
    expect(await recordsOf(log, sessionId('kept'))).toHaveLength(100 + appends);
    expect(await log.vacuum()).toBe(0);
  });

  test('includes blobs that were stored a day ago and never referenced', async () => {
    const clock = new TestClock();
    const log = openLog({ clock });
    const [named, forgotten, recent] = [1, 2, 3].map((byte) => Uint8Array.of(byte));
    const put = async (bytes = new Uint8Array()) => log.blobs.put(bytes);
    const { hash, length } = await put(named);
    const source = { type: 'blob', hash, length } as const;
    const part = { kind: 'media', mimeType: 'a/b', source } as const;
    const driver = await log.open(session);
    await driver.append(wholeItem('i', part));
    // An open driver would keep renewing its lease.
    await driver.release();
    await put(named);
    const left = await put(forgotten);
    await clock.advance(25 * 3_600_000);
    const held = await put(recent);
    await log.vacuum();
    expect(await log.blobs.get(left.hash)).toBeUndefined();
    expect(await log.blobs.get(held.hash)).toEqual(recent);
    expect(await log.blobs.get(hash)).toEqual(named);
  });
});

describe('a backup', () => {
  const copy = () => join(folder, 'copy.db');

  test('is a log with all earlier records, while others continue to write', async () => {
    const log = openLog();
    const driver = await log.open(session);
    for (let turn = 1; turn <= 200; turn++)
      await driver.append(wholeTurn(turn, ['x'.repeat(20_000)]));
    const { hash } = await log.blobs.put(Uint8Array.of(1, 2, 3));
    const there = await startRemoteLog(path);
    const other = await there.call('open', 'other', {});
    await there.append(other.driver, [marker('before')]);
    const appended = await recordsOf(log);
    let isDone = false;
    const copying = log.backup(copy()).finally(() => {
      isDone = true;
    });
    let turn = 200;
    while (!isDone) {
      await driver.append(wholeTurn(++turn, ['meanwhile']));
      await there.append(other.driver, [marker(`${turn}`)]);
    }
    await copying;
    expect(turn).toBeGreaterThan(200);
    expect(readdirSync(folder).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
    const restored = openLog({ path: copy() });
    const records = await recordsOf(restored);
    expect(records.slice(0, appended.length)).toEqual(appended);
    expect((await recordsOf(log)).slice(0, records.length)).toEqual(records);
    const { length: through } = records;
    expect(foldBatch(emptyState(session), { after: 0, through, records }).outcome).toBe('applied');
    expect((await recordsOf(restored, sessionId('other')))[0]).toMatchObject({
      fact: { to: 'before' },
    });
    expect(await restored.blobs.get(hash)).toEqual(Uint8Array.of(1, 2, 3));
    const again = await restored.open(session, { takeOver: true, from: through });
    await again.append([marker('goes on')]);
    await there[Symbol.asyncDispose]();
  });

  test('to an existing file is refused, and that file stays', async () => {
    const log = openLog();
    writeFileSync(copy(), 'precious');
    await expect(log.backup(copy())).rejects.toMatchObject({ code: 'bad_option' });
    await expect(log.backup(path)).rejects.toMatchObject({ code: 'bad_option' });
    expect(readFileSync(copy(), 'utf8')).toBe('precious');
  });

  test('to the same path succeeds once if several run concurrently', async () => {
    const log = openLog();
    await (await log.open(session)).append([marker('a')]);
    const made = await Promise.allSettled([1, 2, 3].map(() => log.backup(copy())));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of made)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'bad_option' });
    expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([]);
    expect(await recordsOf(openLog({ path: copy() }))).toHaveLength(1);
  });

  test('that cannot be written fails and leaves nothing', async () => {
    const log = openLog();
    const nowhere = join(folder, 'nowhere', 'copy.db');
    const refusal = { code: 'storage', place: { path: nowhere } };
    await expect(log.backup(nowhere)).rejects.toMatchObject(refusal);
    expect(existsSync(join(folder, 'nowhere'))).toBe(false);
    await (await log.open(session)).append([marker('a')]);
  });

  test('after a crash starts again', async () => {
    const log = openLog();
    await (await log.open(session)).append([marker('a')]);
    writeFileSync(`${copy()}.unfinished`, 'half');
    await log.backup(copy());
    expect(await recordsOf(openLog({ path: copy() }))).toHaveLength(1);
  });
});

test('a closed log refuses maintenance', async () => {
  const log = openLog();
  await log.close();
  const refusal = { code: 'closed' };
  await expect(log.checkpoint()).rejects.toMatchObject(refusal);
  await expect(log.vacuum()).rejects.toMatchObject(refusal);
  await expect(log.backup(join(folder, 'copy.db'))).rejects.toMatchObject(refusal);
});

test('a checkpoint that fails after an erasure is tried again, until the erased data is gone', async () => {
  const clock = new TestClock();
  const results: (() => boolean)[] = [
    () => {
      throw new Error('The disk is full');
    },
    () => false,
    () => true,
  ];
  let tries = 0;
  const idle = new IdleCheckpoint(clock, () => results[tries++]?.() ?? true);
  idle.noteErasure();
  for (let time = 0; time < 5; time++) await clock.advance(2000);
  expect(tries).toBe(3);
});
