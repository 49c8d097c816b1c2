import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { encodeRecord, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFull, runs } from '../../../core/src/testing/runs.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { marker, wholeItem, wholeTurn } from '../suite/drafts.ts';
import { type SqliteLog, sqliteLog } from './sqlite-log.ts';

const sessions = ['a', 'b', 'c'].map((name) => sessionId(name));
const picture = Uint8Array.from({ length: 20_000 }, (_, at) => (at * 7) % 256);

let folder: string;
/** Every state that each session ever had. */
const history = new Map(sessions.map((session) => [session, new Set([''])]));
let hash: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'damage-'));
  await makeFiles();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function recordsOf(log: Log, of: SessionId): Promise<readonly LogRecord[]> {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

/**
 * Three states of a log: all in the file; some in the WAL; and a WAL whose content the file has
 * too.
 */
async function makeFiles(): Promise<void> {
  const path = join(folder, 'original');
  const log = sqliteLog({ path, commitIntervalMs: 0, onRewound: () => {} });
  const copy = (name: string) => {
    copyFileSync(path, join(folder, name));
    copyFileSync(`${path}-wal`, join(folder, `${name}-wal`));
  };
  await write(log, 1, 6);
  await log.checkpoint();
  copy('file');
  await write(log, 7, 12);
  copy('journal');
  await log.checkpoint();
  await write(log, 13, 18);
  // The file has all records, but a process that opens it still reads the WAL.
  const other = new DatabaseSync(path);
  other.exec('PRAGMA wal_checkpoint(PASSIVE)');
  copy('both');
  other.close();
  await log.close();
}

async function write(log: SqliteLog, from: number, to: number): Promise<void> {
  ({ hash } = await log.blobs.put(picture));
  const source = { type: 'blob', hash, length: picture.length } as const;
  for (const session of sessions) {
    const driver = await log.open(session, { takeOver: true });
    const note = async () => history.get(session)?.add(textOf(await recordsOf(log, session)));
    for (let turn = from; turn <= to; turn++) {
      await driver.append(wholeTurn(turn, ['The sunny ', 'day ', 'x'.repeat(turn * 100)]));
      await note();
      if (turn % 5 > 0) continue;
      await log.settle(session, turn - 1);
      await note();
      await log.submit(session, { say: turn }, `key ${turn}`);
      await note();
      const part = { kind: 'media', mimeType: 'image/png', source } as const;
      await driver.append(wholeItem(`item ${turn}`, part));
      await note();
    }
  }
}

interface Damage {
  readonly how: 'truncate' | 'overwrite' | 'zero' | 'swap';
  /** In millionths of the file, or of its end. */
  readonly at: number;
  readonly isNearEnd: boolean;
  readonly bytes: Uint8Array;
}

const damages: fc.Arbitrary<Damage> = fc.record({
  how: fc.constantFrom('truncate', 'overwrite', 'overwrite', 'zero', 'swap'),
  at: fc.nat(999_999),
  isNearEnd: fc.boolean(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
});

const pageBytes = 4096;

function damaged(whole: Buffer, { how, at, isNearEnd, bytes }: Damage): Buffer {
  const file = Buffer.from(whole);
  const reach = isNearEnd ? Math.min(file.length, 4 * pageBytes) : file.length;
  const start = file.length - reach + Math.floor((at / 1_000_000) * reach);
  const page = start - (start % pageBytes);
  if (how === 'truncate') return file.subarray(0, start);
  if (how === 'zero') file.fill(0, start, Math.min(file.length, start + 512));
  if (how === 'overwrite') file.set(bytes.subarray(0, file.length - start), start);
  if (how === 'swap' && file.length >= 2 * pageBytes) {
    file.copyWithin(page, 0, pageBytes);
    whole.copy(file, 0, page, page + pageBytes);
  }
  return file;
}

/** The outcome: a Millrace error or the requested value. */
async function outcomeOf<T>(run: () => T | Promise<T>): Promise<T | LogError> {
  try {
    return await run();
  } catch (error) {
    expect(error).toBeInstanceOf(LogError);
    expect(['corrupt', 'storage', 'too_new', 'no_session']).toContain((error as LogError).code);
    return error as LogError;
  }
}

const textOf = (records: readonly LogRecord[]) => records.map(encodeRecord).join('\n');

const wasOnce = (session: SessionId, records: readonly LogRecord[]) =>
  history.get(session)?.has(textOf(records));

/** All readable records were committed once, and all new records follow them. */
async function expectNothingWrong(log: Log): Promise<'sound' | 'damaged'> {
  let isSound = true;
  for (const session of sessions) {
    const records = await outcomeOf(() => recordsOf(log, session));
    if (records instanceof LogError) {
      isSound = false;
      continue;
    }
    expect(wasOnce(session, records)).toBe(true);
    const from = records.at(-1)?.offset ?? 0;
    const driver = await outcomeOf(() => log.open(session, { from, takeOver: true }));
    if (driver instanceof LogError) continue;
    const batch = await outcomeOf(() => driver.append([marker('after')]));
    if (batch instanceof LogError) continue;
    expect(batch.records).toMatchObject([{ offset: from + 1, fact: { to: 'after' } }]);
    const after = await outcomeOf(() => recordsOf(log, session));
    if (!(after instanceof LogError)) expect(after).toEqual([...records, ...batch.records]);
  }
  const blob = await outcomeOf(() => log.blobs.get(hash));
  if (!(blob instanceof LogError || blob === undefined)) expect(blob).toEqual(picture);
  const infos = await outcomeOf(() => log.list());
  if (!(infos instanceof LogError))
    for (const { session } of infos) expect(sessions).toContain(session);
  return isSound ? 'sound' : 'damaged';
}

describe.each([
  ['file', 'file', ''],
  ['journal', 'journal', '-wal'],
  ['file under its journal', 'journal', ''],
  ['journal that the file has as well', 'both', '-wal'],
  ['file that the journal has as well', 'both', ''],
])('a damaged %s', (_what, name, end) => {
  test('opens with all records up to some moment, or reports the damage', async () => {
    const seen = new Set<string>();
    const path = join(folder, 'copy');
    const whole = readFileSync(join(folder, `${name}${end}`));
    await fc.assert(
      fc.asyncProperty(damages, async (damage) => {
        for (const other of ['', '-wal', '-shm']) rmSync(path + other, { force: true });
        for (const other of ['', '-wal']) copyFileSync(join(folder, name + other), path + other);
        writeFileSync(path + end, damaged(whole, damage));
        const log = await outcomeOf(() =>
          sqliteLog({ path, commitIntervalMs: 0, busyTimeoutMs: 0, onRewound: () => {} }),
        );
        if (log instanceof LogError) return void seen.add('refused');
        try {
          seen.add(await expectNothingWrong(log));
        } finally {
          await outcomeOf(() => log.close());
        }
      }),
      { numRuns: runs(100) },
    );
    // Otherwise the test damaged nothing or everything.
    if (!isFull) return;
    expect(seen).toContain('sound');
    expect(seen.size).toBeGreaterThan(end === '' ? 1 : 0);
  });
});

test('a WAL that lost its last commits has all earlier ones', async () => {
  const path = join(folder, 'cut');
  const journal = readFileSync(join(folder, 'journal-wal'));
  const frameBytes = pageBytes + 24;
  let last = 0;
  for (let length = 32; length <= journal.length; length += frameBytes) {
    for (const end of ['-wal', '-shm']) if (existsSync(path + end)) rmSync(path + end);
    copyFileSync(join(folder, 'journal'), path);
    writeFileSync(`${path}-wal`, journal.subarray(0, length));
    const log = sqliteLog({ path, commitIntervalMs: 0, onRewound: () => {} });
    const there = await Promise.all(sessions.map((session) => recordsOf(log, session)));
    for (const [index, session] of sessions.entries())
      expect(wasOnce(session, there[index] ?? [])).toBe(true);
    const { length: count } = there.flat();
    expect(count).toBeGreaterThanOrEqual(last - 8);
    last = count;
    await log.close();
  }
});
