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
import { encodeRecord, itemId, sessionId, transcript } from '@millrace/core';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { snapshot } from '../../any-log/snapshot.ts';
import { LogError } from '../../contract/log-error.ts';
import { markers, wholeItem } from '../../suite/drafts.ts';
import { Follower, readAll } from '../../suite/follower.ts';
import { type RewindEvent, type SqliteLog, sqliteLog } from '../index.ts';
import { migrations } from '../schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-lineage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const newPath = () => join(folder, `${++count}.db`);
const session = sessionId('s');
const sideFiles = ['', '-wal', '-mark'];

/** Copies the files as a crash at this moment would leave them. */
function crashCopy(from: string): string {
  const to = newPath();
  for (const end of sideFiles) if (existsSync(from + end)) copyFileSync(from + end, to + end);
  return to;
}

interface Opened extends AsyncDisposable {
  readonly log: SqliteLog;
  readonly rewinds: readonly RewindEvent[];
}

function open(path: string): Opened {
  const rewinds: RewindEvent[] = [];
  const log = sqliteLog({ path, onRewound: (event) => rewinds.push(event) });
  return { log, rewinds, [Symbol.asyncDispose]: () => log.close() };
}

const incarnationOf = async (log: SqliteLog, session = 's') =>
  (await log.info(session))?.incarnation ?? 'no session';
const hasCode = (code: string) => expect.objectContaining({ code }) as Error;

describe('21.B: a rewound log is found, and gets a new incarnation', () => {
  test('21.B: two copies of one backup never give the same epoch or the same generation of a session', async () => {
    const backup = newPath();
    await using first = open(newPath());
    await (await first.log.open('s')).append(markers(3));
    await first.log.backup(backup);
    const restored = async () => {
      const path = newPath();
      copyFileSync(backup, path);
      await using copy = open(path);
      const { epoch } = await copy.log.open('s');
      await copy.log.open('new');
      return { epoch, generation: (await incarnationOf(copy.log, 'new')).slice(8) };
    };
    const [one, two] = [await restored(), await restored()];
    expect(one.epoch).not.toBe(two.epoch);
    expect(one.generation).not.toBe(two.generation);
  });

  test('21.B: a file that is opened again, also after a crash, keeps its incarnation', async () => {
    const path = newPath();
    await using first = open(path);
    const driver = await first.log.open('s');
    await driver.append(markers(3));
    const incarnation = await incarnationOf(first.log);
    expect(incarnation).toMatch(/^[0-9a-z]{9}$/);
    await using crashed = open(crashCopy(path));
    expect([await incarnationOf(crashed.log), crashed.rewinds]).toEqual([incarnation, []]);
    await first.log.close();
    await using again = open(path);
    expect([await incarnationOf(again.log), again.rewinds]).toEqual([incarnation, []]);
  });

  test('21.B: a removed WAL that drops the last records is found', async () => {
    const path = newPath();
    await using first = open(path);
    const driver = await first.log.open('s');
    await driver.append(markers(3));
    await first.log.checkpoint();
    await driver.append(markers(2));
    const incarnation = await incarnationOf(first.log);
    const copy = crashCopy(path);
    rmSync(`${copy}-wal`);
    await using opened = open(copy);
    expect(opened.rewinds).toEqual([{ path: copy, reason: 'lost_tail' }]);
    expect((await opened.log.info('s'))?.through).toBe(3);
    expect(await incarnationOf(opened.log)).not.toBe(incarnation);
    await expect(opened.log.read('s', { from: 5, incarnation })).rejects.toEqual(
      hasCode('rewound'),
    );
    await expect(opened.log.read('s', { from: 2, incarnation })).rejects.toEqual(
      hasCode('rewound'),
    );
    await expect(opened.log.open('s', { incarnation, takeOver: true })).rejects.toEqual(
      hasCode('rewound'),
    );
    const follower = opened.log.follow('s', { from: 2, incarnation })[Symbol.asyncIterator]();
    await expect(follower.next()).rejects.toEqual(hasCode('rewound'));
    // No epoch and no session number of the lost commits is used again.
    expect((await opened.log.open('s', { takeOver: true })).epoch).toBeGreaterThan(1_000_000);
  });

  test('21.B: a changed byte in the WAL loses nothing without a new incarnation', async () => {
    const path = newPath();
    await using first = open(path);
    const driver = await first.log.open('s');
    await first.log.checkpoint();
    for (let batch = 0; batch < 12; batch++) await driver.append(markers(2, `batch ${batch}`));
    const incarnation = await incarnationOf(first.log);
    const whole = (await readAll(first.log, session)).map(encodeRecord);
    const found = { lost: 0, whole: 0 };
    const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(place, fc.integer({ min: 0, max: 7 }), async (at, bit) => {
        const copy = crashCopy(path);
        const bytes = readFileSync(`${copy}-wal`);
        const index = Math.floor(at * bytes.length);
        bytes[index] = (bytes[index] ?? 0) ^ (1 << bit);
        writeFileSync(`${copy}-wal`, bytes);
        await using opened = open(copy);
        const left = (await readAll(opened.log, session)).map(encodeRecord);
        expect(left).toEqual(whole.slice(0, left.length));
        const isLost = left.length < whole.length;
        expect(opened.rewinds.length > 0).toBe(isLost);
        expect((await incarnationOf(opened.log)) !== incarnation).toBe(isLost);
        found[isLost ? 'lost' : 'whole']++;
      }),
      { numRuns: runs(200) },
    );
    expect(found.lost).toBeGreaterThan(0);
  });

  test('21.B: an earlier copy of the file that is put back by hand is found', async () => {
    const path = newPath();
    let opened = open(path);
    await (await opened.log.open('s')).append(markers(2));
    await opened.log.close();
    copyFileSync(path, `${path}.old`);
    opened = open(path);
    await (await opened.log.open('t')).append(markers(1));
    const incarnation = await incarnationOf(opened.log);
    await opened.log.close();
    copyFileSync(`${path}.old`, path);
    await using back = open(path);
    expect(back.rewinds).toEqual([{ path, reason: 'lost_tail' }]);
    expect(await incarnationOf(back.log)).not.toBe(incarnation);
  });

  test('21.B: a file without its mark, or with that of another log, counts as replaced', async () => {
    const path = newPath();
    await using first = open(path);
    await (await first.log.open('s')).append(markers(2));
    const copies = [crashCopy(path), crashCopy(path), crashCopy(path)] as const;
    rmSync(`${copies[0]}-mark`);
    writeFileSync(`${copies[1]}-mark`, 'millrace-mark-1 1 2 3');
    await using other = open(newPath());
    await (await other.log.open('s')).append(markers(2));
    copyFileSync(join(folder, `${count}.db-mark`), `${copies[2]}-mark`);
    for (const copy of copies) {
      await using opened = open(copy);
      expect(opened.rewinds).toEqual([{ path: copy, reason: 'replaced' }]);
      expect((await opened.log.info('s'))?.through).toBe(2);
    }
  });

  test('21.B: a deletion that is lost with the WAL is found, and one that is kept is not', async () => {
    const path = newPath();
    await using first = open(path);
    await (await first.log.open('s')).append(markers(2));
    await first.log.checkpoint();
    // A reader keeps the deletion in the WAL.
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM log_sessions');
    await first.log.delete('s');
    const [kept, lost] = [crashCopy(path), crashCopy(path)];
    reader.close();
    rmSync(`${lost}-wal`);
    await using whole = open(kept);
    expect(whole.rewinds).toEqual([]);
    await using rewound = open(lost);
    expect(rewound.rewinds).toEqual([{ path: lost, reason: 'lost_tail' }]);
  });

  test('21.B: each opened backup has an incarnation of its own', async () => {
    const path = newPath();
    await using first = open(path);
    const driver = await first.log.open('s');
    await driver.append(markers(3));
    const backup = newPath();
    await first.log.backup(backup);
    const other = newPath();
    copyFileSync(backup, other);
    await using one = open(backup);
    await using two = open(other);
    expect(one.rewinds).toEqual([{ path: backup, reason: 'restored' }]);
    const all = await Promise.all([first, one, two].map(({ log }) => incarnationOf(log)));
    expect(new Set(all).size).toBe(3);
    expect((await readAll(one.log, session)).length).toBe(3);
  });

  test('21.B: a session that is deleted and created again has another incarnation', async () => {
    await using opened = open(newPath());
    await (await opened.log.open('s')).append(markers(3));
    const incarnation = await incarnationOf(opened.log);
    await opened.log.delete('s');
    await (await opened.log.open('s')).append(markers(5));
    await expect(opened.log.read('s', { from: 3, incarnation })).rejects.toEqual(
      hasCode('rewound'),
    );
    expect((await opened.log.read('s', { from: 3 })).records.length).toBe(2);
  });

  test('21.B: followers and drivers of other processes stop when the log gets a new incarnation', async () => {
    const path = newPath();
    await using one = open(path);
    await using two = open(path);
    const driver = await one.log.open('s');
    await driver.append(markers(2));
    const followers = [one, two].map(({ log }) => new Follower(log, session));
    for (const follower of followers) await follower.reach(2);
    const ends = followers.map((follower) => follower.reach(3).catch((error: unknown) => error));
    await two.log.renewIncarnation();
    for (const end of ends) expect(await end).toEqual(hasCode('rewound'));
    await expect(driver.append(markers(1))).rejects.toEqual(hasCode('fenced'));
    expect(await readAll(two.log, session)).toHaveLength(2);
    await using third = open(crashCopy(path));
    expect(third.rewinds).toEqual([]);
  });
});

describe('21.J: content that was redacted while another connection reads', () => {
  const secret = 'the order was paid with card 1';
  const isIn = (path: string) =>
    sideFiles.some((end) => existsSync(path + end) && readFileSync(path + end).includes(secret));

  test.each([
    ['before it is in the file', false],
    ['after it is in the file', true],
  ])('21.J: is removed by the next process after a crash, %s', async (_, isInFile) => {
    const path = newPath();
    await using first = open(path);
    const driver = await first.log.open('s');
    await driver.append(wholeItem('i', { kind: 'text', text: `${secret} `.repeat(1000) }));
    if (isInFile) await first.log.checkpoint();
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM log_sessions');
    await first.log.redact('s', itemId('i'));
    const copy = crashCopy(path);
    reader.close();
    expect(isIn(copy)).toBe(true);
    await using second = open(copy);
    expect(isIn(copy)).toBe(false);
    expect((await second.log.info('s'))?.through).toBe(4);
    // The next process has nothing left to do.
    const third = crashCopy(copy);
    await using last = open(third);
    expect(last.rewinds).toEqual([]);
  });

  test('21.J: a fork at an earlier offset marks the items that it has without content', async () => {
    await using opened = open(newPath());
    const driver = await opened.log.open('s');
    await driver.append(wholeItem('i', { kind: 'text', text: secret }));
    await driver.append(markers(3));
    await opened.log.redact('s', itemId('i'), 'private');
    await opened.log.fork('s', { into: 'fork', through: 4 });
    const { records } = await opened.log.read('fork', { from: 4 });
    expect(records.map(({ fact }) => fact)).toEqual([
      { type: 'item_redacted', itemId: 'i', reason: 'private' },
    ]);
    expect(transcript(await snapshot(opened.log, 'fork'))).toMatchObject([
      { id: 'i', redacted: true, parts: [] },
    ]);
  });
});

describe('21.M: a program that runs while a later one migrates the file', () => {
  test('21.M: is refused before it writes again', async () => {
    const path = newPath();
    await using opened = open(path);
    const driver = await opened.log.open('s');
    await driver.append(markers(2));
    const later = new DatabaseSync(path);
    later.exec(
      `CREATE TABLE later (x) STRICT; PRAGMA user_version = ${migrations.length + 1}`.replace(
        ' (x)',
        ' (x TEXT)',
      ),
    );
    const append = driver.append(markers(1));
    await expect(append).rejects.toEqual(hasCode('too_new'));
    await expect(append).rejects.toThrow(/is version 4.*supports up to 3.*later version/);
    await expect(opened.log.submit('s', {}, 'key')).rejects.toEqual(hasCode('too_new'));
    await expect(opened.log.open('other')).rejects.toBeInstanceOf(LogError);
    expect(later.prepare('SELECT max(through) AS through FROM log_sessions').get()).toEqual({
      through: 2,
    });
    later.close();
  });

  test('21.M: of version 1 cannot write either, and its error says why', async () => {
    const path = newPath();
    const old = new DatabaseSync(path);
    old.exec(
      `PRAGMA journal_mode = WAL; ${migrations[0]}; PRAGMA user_version = 1; PRAGMA application_id = ${0x6d696c6c}`,
    );
    // What version 1 runs for each append. It was prepared before the migration.
    const grow = old.prepare(
      'UPDATE sessions SET through = ?, changed_at = ?, lease = ?, sum = ? WHERE key = ?',
    );
    old.exec(
      `INSERT INTO sessions (id, made, rewrites, through, created_at, changed_at, is_closed, epoch, open_work, queued_commands, sum) VALUES ('s', 1, 0, 0, 0, 0, 0, 0, '[]', 0, 0)`,
    );
    expect(grow.run(1, 0, null, 0, 1).changes).toBe(1);
    await using opened = open(path);
    await (await opened.log.open('t')).append([...wholeItem('i', { kind: 'text', text: 'hello' })]);
    expect(() => grow.run(2, 0, null, 0, 1)).toThrow(/migrated this log to version 2/);
    expect(() =>
      old.prepare(
        'INSERT INTO sessions (id) VALUES (?) ON CONFLICT (id) DO UPDATE SET id = excluded.id',
      ),
    ).toThrow();
    old.close();
  });
});
