import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Batch, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Driver, Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { marker, markers, wholeItem, wholeTurn } from '../suite/drafts.ts';
import { TestClock } from '../suite/test-clock.ts';
import { filePath, openDatabase } from './open-database.ts';
import { migrate, migrations, singleValue } from './schema.ts';
import { type SqliteLogOptions, sqliteLog } from './sqlite-log.ts';

const session = sessionId('s');
let folder: string;
let path: string;
const open: Log[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'faults-'));
  path = join(folder, 'log.db');
});
afterEach(async () => {
  for (const log of open.splice(0)) await log.close();
  rmSync(folder, { recursive: true });
});

function openLog(options: Partial<SqliteLogOptions> = {}) {
  const log = sqliteLog({ path, commitIntervalMs: 0, busyTimeoutMs: 0, ...options });
  open.push(log);
  return log;
}

async function recordsOf(log: Log, of: SessionId = session): Promise<readonly LogRecord[]> {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/** Asserts a Millrace error with this code that names the file and the remedy. */
function expectRefusal(error: unknown, code: string, wayOut: RegExp): void {
  expect(error).toBeInstanceOf(LogError);
  expect(error).toMatchObject({ code, place: { path } });
  expect((error as Error).message).toMatch(wayOut);
}

describe('a file that cannot be opened', () => {
  test('in a folder that does not exist', () => {
    path = join(folder, 'nowhere', 'log.db');
    expectRefusal(thrownBy(openLog), 'storage', /check the folder/);
    mkdirSync(join(folder, 'nowhere'));
    openLog();
  });

  test('because it is a folder', () => {
    mkdirSync(path);
    expectRefusal(thrownBy(openLog), 'storage', /check the folder/);
  });

  test.each([
    ['a line', 'hello'],
    ['a page that only begins like one', `SQLite format 3\0${'x'.repeat(9000)}`],
    ['zeros', '\0'.repeat(9000)],
  ])('because it is not a database but %s', (_what, text) => {
    writeFileSync(path, text);
    expectRefusal(thrownBy(openLog), 'corrupt', /check the path|restore a backup/);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('because it belongs to another program, and it stays unchanged', () => {
    const database = new DatabaseSync(path);
    database.exec('CREATE TABLE recipes (name TEXT); PRAGMA user_version = 1');
    database.close();
    const before = readFileSync(path);
    expectRefusal(thrownBy(openLog), 'storage', /another program.*another path/);
    expect(readFileSync(path)).toEqual(before);
  });

  test('but an empty file can be opened as a new log', async () => {
    writeFileSync(path, '');
    await (await openLog().open(session)).append([marker('a')]);
  });
});

describe('a path', () => {
  test.each(['', ':memory:', 'file:log.db', 5 as never])(
    'that is not a file is refused: %s',
    (odd) => {
      expect(() => sqliteLog({ path: odd })).toThrow(
        expect.objectContaining({ code: 'bad_option' }),
      );
    },
  );

  test('through a link means the real file with its WAL', async () => {
    const log = openLog();
    await (await log.open(session)).append([marker('a')]);
    const link = join(folder, 'link.db');
    symlinkSync(path, link);
    const linked = openLog({ path: link });
    expect(await recordsOf(linked)).toHaveLength(1);
    expect(filePath(link)).toBe(filePath(path));
    expect(existsSync(`${link}-wal`)).toBe(false);
  });

  test('that is relative stays the same when the current folder changes', async () => {
    const before = process.cwd();
    const other = join(folder, 'other');
    mkdirSync(other);
    process.chdir(folder);
    try {
      const log = openLog({ path: 'relative.db' });
      await (await log.open(session)).append([marker('a')]);
      process.chdir(other);
      await log.backup(join(folder, 'copy.db'));
    } finally {
      process.chdir(before);
    }
    expect(await recordsOf(openLog({ path: join(folder, 'copy.db') }))).toHaveLength(1);
  });
});

test.each([
  ['process', 1],
  ['power', 2],
] as const)('durability %s is what SQLite calls %i', (durability, level) => {
  const database = openDatabase({ path, durability, busyTimeoutMs: 0 });
  expect(singleValue(database, 'PRAGMA synchronous')).toBe(level);
  expect(singleValue(database, 'PRAGMA journal_mode')).toBe('wal');
  database.close();
});

describe('a misspelled option', () => {
  test.each([
    { durability: 'full' as never },
    { maxBytes: Number.NaN },
    { maxBytes: '10MB' as never },
    { busyTimeoutMs: -1 },
  ])('is refused and does not make the log less durable: %o', (options) => {
    expect(() => openLog(options)).toThrow(expect.objectContaining({ code: 'bad_option' }));
    expect(existsSync(path)).toBe(false);
  });
});

describe('a schema', () => {
  const versionOf = (file: string) => {
    const database = new DatabaseSync(file);
    const { user_version: version } = database.prepare('PRAGMA user_version').get() ?? {};
    database.close();
    return version;
  };

  test('that is newer is refused and not changed', async () => {
    await openLog().close();
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA user_version = ${migrations.length + 1}`);
    database.close();
    const known = migrations.length;
    const wayOut = new RegExp(`version ${known + 1}.*up to ${known}.*later`);
    expectRefusal(thrownBy(openLog), 'too_new', wayOut);
    expect(versionOf(path)).toBe(migrations.length + 1);
  });

  test('that is older is migrated step by step with all its data', async () => {
    const log = openLog();
    const appended = await (await log.open(session)).append(wholeTurn(1, ['a', 'b']));
    await log.close();
    const database = new DatabaseSync(path);
    const next = [
      ...migrations,
      'CREATE TABLE a (x); INSERT INTO a SELECT count(*) FROM chunks',
      'ALTER TABLE a ADD COLUMN y DEFAULT 7',
    ];
    migrate(database, path, next);
    expect(database.prepare('SELECT x, y FROM a').get()).toEqual({ x: 1, y: 7 });
    // A second migration has nothing to do.
    migrate(database, path, next);
    database.exec(`DROP TABLE a; PRAGMA user_version = ${migrations.length}`);
    database.close();
    expect(await recordsOf(openLog())).toEqual(appended.records);
  });

  test('whose migration fails keeps its version', async () => {
    await openLog().close();
    const database = new DatabaseSync(path);
    const bad = [...migrations, 'CREATE TABLE a (x); INSERT INTO nowhere VALUES (1)'];
    expect(() => migrate(database, path, bad)).toThrow('nowhere');
    expect(database.isTransaction).toBe(false);
    expect(database.prepare(`SELECT * FROM sqlite_schema WHERE name = 'a'`).all()).toEqual([]);
    database.close();
    expect(versionOf(path)).toBe(migrations.length);
    openLog();
  });

  test('that a later program migrated meanwhile is not downgraded', () => {
    const one = new DatabaseSync(path);
    const other = new DatabaseSync(path);
    migrate(other, path, [...migrations, 'CREATE TABLE a (x)']);
    expectRefusal(
      thrownBy(() => migrate(one, path)),
      'too_new',
      /later/,
    );
    one.close();
    other.close();
    expect(versionOf(path)).toBe(migrations.length + 1);
  });
});

describe('a file that another program has locked', () => {
  /** The other program: it locks the file until it is released. */
  function hold(): DatabaseSync {
    const other = new DatabaseSync(path);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return other;
  }

  test('cannot be opened until it is unlocked', async () => {
    const log = openLog();
    const appended = await (await log.open(session)).append([marker('a')]);
    await log.close();
    const other = hold();
    expectRefusal(thrownBy(openLog), 'storage', /another program.*close that program or wait/);
    other.close();
    expect(await recordsOf(openLog())).toEqual(appended.records);
  });

  test('refuses appends, can be read, and can be driven again when it is unlocked', async () => {
    const log = openLog();
    const driver = await log.open(session);
    const appended = await driver.append([marker('a')]);
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const refused = await driver.append([marker('b')]).catch((error: unknown) => error);
    expectRefusal(refused, 'storage', /another program/);
    expect(await driver.lost).toBe(refused);
    expect(await recordsOf(log)).toEqual(appended.records);
    other.close();
    const next = await log.open(session);
    const { records } = await next.append([marker('c')]);
    expect(records.slice(0, -1)).toEqual(appended.records);
  });
});

describe('a lease that cannot be renewed because another program has locked the file', () => {
  test.each([
    ['for a moment is kept', 3000, undefined],
    ['until it is over is lost', 9000, 'storage'],
  ])('%s', async (_what, ms, code) => {
    const clock = new TestClock();
    const log = openLog({ clock });
    const driver = await log.open(session, { leaseMs: 9000 });
    let lost: unknown;
    void driver.lost.then((error) => {
      lost = error;
    });
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    await clock.advance(ms);
    other.exec('COMMIT');
    other.close();
    await clock.advance(3000);
    expect((lost as LogError | undefined)?.code).toBe(code);
    const appended = await driver.append([marker('after')]).catch((error: unknown) => error);
    if (code === undefined) expect(appended).toMatchObject({ through: 1 });
    else expect(appended).toBe(lost);
  });
});

describe('a store that fails in the middle of a run', () => {
  async function drain(batches: AsyncIterable<Batch>, into: LogRecord[]): Promise<void> {
    for await (const { records } of batches) into.push(...records);
  }

  /** Appends until it fails. Returns the stored records and the error. */
  async function appendAll(driver: Driver): Promise<[readonly LogRecord[], unknown]> {
    const appended: LogRecord[] = [];
    for (let round = 0; round < 10_000; round++) {
      try {
        appended.push(...(await driver.append(markers(10, 'x'.repeat(100)))).records);
      } catch (error) {
        return [appended, error];
      }
    }
    throw new Error('It was never refused');
  }

  test('because the disk is full: nothing more is published, the driver is lost, and acknowledged records exist', async () => {
    const log = openLog({ maxBytes: 200_000 });
    const driver = await log.open(session);
    await driver.append([marker('first')]);
    const received: LogRecord[] = [];
    const controller = new AbortController();
    const following = drain(log.follow(session, { signal: controller.signal }), received);
    const [appended, refusal] = await appendAll(driver);
    expectRefusal(refusal, 'storage_full', /full.*Nothing of this write was stored; make room/);
    expect(await driver.lost).toBe(refusal);
    await expect(driver.append([marker('more')])).rejects.toBe(refusal);
    const stored = await recordsOf(log);
    expect(stored.slice(1)).toEqual(appended);
    // A lost driver does not block other drivers in this process.
    await expect(log.open(session, { from: stored.length })).resolves.toMatchObject({ session });
    while (received.length < stored.length) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await following;
    expect(received).toEqual(stored);
    await log.close();
    const again = openLog();
    expect(await recordsOf(again)).toEqual(stored);
    const next = await again.open(session, { from: stored.length, takeOver: true });
    expect((await next.append([marker('more')])).through).toBe(stored.length + 1);
  });

  test('in the transaction that created a session: the next session is not confused with it', async () => {
    const log = openLog({ maxBytes: 100_000 });
    const [first, second] = [sessionId('first'), sessionId('second')];
    const other = await log.open(second);
    const large = wholeItem('large', { kind: 'text', text: 'x'.repeat(200_000) });
    await expect(log.restore(first, numbered(large))).rejects.toMatchObject({
      code: 'storage_full',
    });
    const third = await log.open(sessionId('third'));
    await third.append([marker('third')]);
    await log.restore(first, numbered([marker('first')]));
    await other.append([marker('second')]);
    expect(await recordsOf(log, first)).toMatchObject([{ fact: { to: 'first' } }]);
    expect(await recordsOf(log, second)).toMatchObject([{ fact: { to: 'second' } }]);
    expect(await recordsOf(log, sessionId('third'))).toMatchObject([{ fact: { to: 'third' } }]);
  });

  test('in the transaction that created a session: the commands of the next session are separate', async () => {
    const log = openLog({ maxBytes: 100_000 });
    const [first, second] = [sessionId('first'), sessionId('second')];
    const large = { text: 'x'.repeat(200_000) };
    await expect(log.submit(first, large, 'key')).rejects.toMatchObject({ code: 'storage_full' });
    await log.submit(second, {}, 'key');
    expect(await log.submit(first, {}, 'key')).toEqual({ offset: 1, isRepeat: false });
  });

  test('for one session whose rows are damaged: others in the same transaction are stored', async () => {
    const clock = new TestClock();
    const log = openLog({ commitIntervalMs: 1000, clock });
    const damaged = await log.open(sessionId('damaged'));
    const opening = log.open(session);
    await clock.advance(1000);
    const sound = await opening;
    const other = new DatabaseSync(path);
    other.exec(`UPDATE log_sessions SET epoch = 99 WHERE id = 'damaged'`);
    other.close();
    const appends = [damaged.append([marker('a')]), sound.append([marker('b')])];
    await log.close();
    const [lost, kept] = await Promise.allSettled(appends);
    expect(lost).toMatchObject({ status: 'rejected', reason: { code: 'corrupt' } });
    expect(kept).toMatchObject({ status: 'fulfilled', value: { through: 1 } });
  });
});

const numbered = (drafts: readonly object[]) =>
  drafts.map((draft, index) => {
    const head = { v: 1, offset: index + 1, time: 0, producer: 'test' };
    return { ...draft, ...head } as LogRecord;
  });

describe('a clock that is set back', () => {
  const hourMs = 3_600_000;

  test('delays no append and changes no order', async () => {
    const clock = new TestClock();
    const log = openLog({ clock, commitIntervalMs: 2 });
    const driver = await log.open(session);
    const received: number[] = [];
    const following = (async () => {
      for await (const { records } of log.follow(session, { until: 'closed' }))
        for (const { offset } of records) received.push(offset);
    })();
    for (let round = 0; round < 5; round++) {
      const appended = await Promise.all([1, 2, 3].map(() => driver.append([marker('a')])));
      const offsets = appended.map(({ records }) => records.map(({ offset }) => offset));
      expect(offsets).toEqual([1, 2, 3].map((n) => [round * 3 + n]));
      clock.jump(round % 2 === 0 ? -hourMs : hourMs / 2);
    }
    await driver.closeSession();
    await following;
    expect(received).toEqual(Array.from({ length: 15 }, (_, at) => at + 1));
    const times = (await recordsOf(log)).map(({ time }) => time);
    expect(times).not.toEqual(times.toSorted());
  });

  test('leaves the lease with its holder, and not longer than before', async () => {
    const clock = new TestClock();
    const [log, other] = [openLog({ clock }), openLog({ clock })];
    const driver = await log.open(session, { leaseMs: 9000 });
    clock.jump(-hourMs);
    await expect(other.open(session)).rejects.toMatchObject({ code: 'held' });
    await driver.append([marker('a')]);
    const { lease } = (await other.info(session)) ?? {};
    expect(lease?.expiresAt).toBe(clock.now() + 9000);
  });
});

test('a follower gets an error for damaged records, and other followers continue', async () => {
  const log = openLog();
  const [driver, other] = [await log.open(session), await log.open(sessionId('other'))];
  await driver.append([marker('a')]);
  await other.append([marker('b')]);
  const following = [session, sessionId('other')].map((one) =>
    log.follow(one)[Symbol.asyncIterator](),
  );
  for (const batches of following) await batches.next();
  const waiting = following.map((batches) => batches.next());
  const meddler = openLog();
  const database = new DatabaseSync(path);
  database.exec(`UPDATE log_sessions SET epoch = 99 WHERE id = 's'`);
  database.close();
  // Any other commit makes this process check the file.
  await meddler.submit(sessionId('other'), {}, 'key');
  await expect(waiting[0]).rejects.toMatchObject({ code: 'corrupt', place: { session } });
  expect((await waiting[1])?.value).toMatchObject({ through: 2 });
  await following[1]?.return?.();
});

test('a session that another process deleted and created again is the new one here, with its commands', async () => {
  const [log, other] = [openLog(), openLog()];
  await log.submit(session, {}, 'key');
  await other.delete(session);
  await other.submit(session, {}, 'first');
  await other.submit(session, {}, 'key');
  expect(await log.submit(session, {}, 'key')).toEqual({ offset: 2, isRepeat: true });
});
