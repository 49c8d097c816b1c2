import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { isMillraceError } from '@millrace/core';
import { type SqliteLog, sqliteLog } from '@millrace/log/sqlite';
import { exportSqliteRows, sqliteRows } from '@millrace/server/sqlite';
import { describe, expect, test } from 'vitest';
import { markers, wholeItem } from '../../../../packages/log/src/suite/drafts.ts';
import { readContents } from '../../../../packages/log/src/testing/version-fixture.ts';
import { runCommand } from '../command/run-command.ts';
import { makeFolder } from '../make-folder.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { backupTarget } from './backup-target.ts';
import { restoreBackup } from './restore-backup.ts';
import { writeBackup } from './write-backup.ts';

const folder = temporaryFolder('backup');
const place = (name: string) => ({ env: { HOME: folder() }, cwd: join(folder(), name) });
const server = (name: string) => backupTarget({ data: '.' }, {}, place(name));
const sessions = (name: string) => backupTarget({ store: name }, {}, place('.'));

async function fill(log: SqliteLog): Promise<void> {
  const { hash, length } = await log.blobs.put(Uint8Array.of(1, 2, 3));
  const source = { type: 'blob', hash, length } as const;
  const driver = await log.open('chat');
  await driver.append(wholeItem('i', { kind: 'media', mimeType: 'image/png', source }));
  await driver.append(markers(5));
  await driver.release();
  await log.submit('other', { type: 'message' }, 'key');
}

/** Creates the data folder of a server, with sessions and rows. */
async function makeServer(name: string): Promise<void> {
  makeFolder(join(folder(), name));
  const log = sqliteLog({ path: join(folder(), name, 'sessions.db') });
  await fill(log);
  await log.close();
  const rows = sqliteRows({ path: join(folder(), name, 'tasks.db') });
  await rows.put('tasks', {
    id: 't1',
    keys: { name: 'weather', status: 'RUNNING' },
    data: { a: 1 },
  });
  await rows.put('tasks', { id: 't1', keys: { name: 'weather', status: 'DONE' }, data: { a: 2 } });
  await rows.put('agents', { id: 'a1', keys: { name: 'echo' }, data: {} });
  await rows.close();
}

const rowsIn = (name: string) => [...exportSqliteRows(join(folder(), name, 'tasks.db'))];

async function contentsIn(path: string) {
  const log = sqliteLog({ path: join(folder(), path) });
  const contents = await readContents(log);
  const incarnation = (await log.info('chat'))?.incarnation;
  await log.close();
  return { contents, incarnation };
}

const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => (isMillraceError(error) ? error.code : error),
  );

describe('21.3: a backup of a server', () => {
  test('21.3: has its log, blobs and rows, and is restored with a new incarnation', async () => {
    await makeServer('one');
    const path = join(folder(), 'server.backup');
    const summary = await writeBackup(server('one'), path);
    expect(summary).toMatchObject({ kind: 'server', sessions: 2, blobs: 1, rows: 2 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await restoreBackup({ path, target: server('two'), replace: false })).toEqual(summary);
    const [before, after] = [
      await contentsIn('one/sessions.db'),
      await contentsIn('two/sessions.db'),
    ];
    expect(after.contents).toEqual(before.contents);
    expect(after.incarnation).not.toBe(before.incarnation);
    expect(rowsIn('two')).toEqual(rowsIn('one'));
    const rows = sqliteRows({ path: join(folder(), 'two/tasks.db') });
    expect(await rows.list('tasks', { where: { status: 'DONE' } })).toHaveLength(1);
    await rows.close();
    // From now on, two stores of the same backup have different histories.
    await restoreBackup({ path, target: server('three'), replace: false });
    expect((await contentsIn('three/sessions.db')).incarnation).not.toBe(after.incarnation);
  });

  test('attack: another user reads a backup while it grows', async () => {
    await makeServer('watched');
    const path = join(folder(), 'watched.backup');
    const seen = new Set<number>();
    const look = (at: string) => {
      for (const name of readdirSync(at).filter((one) => one.includes('.part')))
        seen.add((statSync(join(at, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o077);
    };
    const timer = setInterval(() => [folder(), join(folder(), 'unwatched')].forEach(look));
    makeFolder(join(folder(), 'unwatched'));
    try {
      await writeBackup(server('watched'), path);
      await restoreBackup({ path, target: server('unwatched'), replace: false });
    } finally {
      clearInterval(timer);
    }
    expect([...seen].filter((mode) => mode !== 0)).toEqual([]);
    const files = [
      path,
      join(folder(), 'unwatched/sessions.db'),
      join(folder(), 'unwatched/tasks.db'),
    ];
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  });

  test('21.3: is of one moment, while others write', async () => {
    await makeServer('busy');
    const log = sqliteLog({ path: join(folder(), 'busy/sessions.db'), commitIntervalMs: 0 });
    const rows = sqliteRows({ path: join(folder(), 'busy/tasks.db') });
    const driver = await log.open('pairs');
    let isOver = false;
    let pairs = 0;
    // Each row contains the offset of the last log record. It is written after that record.
    const writing = (async () => {
      while (!isOver) {
        const { through } = await driver.append(markers(1));
        await rows.put('states', { id: 'last', keys: {}, data: { through } });
        pairs++;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const paths = ['a', 'b', 'c'].map((name) => join(folder(), `busy ${name}.backup`));
    for (const path of paths) {
      const before = pairs;
      await writeBackup(server('busy'), path);
      expect(pairs).toBeGreaterThan(before);
    }
    isOver = true;
    await writing;
    await log.close();
    await rows.close();
    for (const [index, path] of paths.entries()) {
      const name = `busy ${index}`;
      await restoreBackup({ path, target: server(name), replace: false });
      const copy = sqliteLog({ path: join(folder(), name, 'sessions.db') });
      const { through = 0 } = (await copy.info('pairs')) ?? {};
      await copy.close();
      const last = rowsIn(name).find(({ table }) => table === 'states')?.data ?? '{"through":0}';
      // A backup between the two writes of a pair has a log that is one record ahead.
      const { through: named } = JSON.parse(last) as { readonly through: number };
      expect([0, 1]).toContain(through - named);
    }
  });
});

describe('21.3: a restore', () => {
  test('21.3: replaces nothing without --replace, and nothing that is in use', async () => {
    const path = join(folder(), 'own.backup');
    const log = sqliteLog({ path: join(folder(), 'own.db') });
    await fill(log);
    expect(await writeBackup(sessions('own.db'), path)).toMatchObject({
      kind: 'sessions',
      rows: 0,
    });
    expect(await codeOf(writeBackup(sessions('own.db'), path))).toBe('file_exists');
    const driver = await log.open('chat');
    await driver.append(markers(1));
    const restore = (replace: boolean) =>
      codeOf(restoreBackup({ path, target: sessions('own.db'), replace }));
    expect([await restore(false), await restore(true)]).toEqual(['in_use', 'in_use']);
    await driver.append(markers(1));
    const { incarnation } = (await log.info('chat')) ?? {};
    await log.close();
    expect(await restore(false)).toBe('not_empty');
    expect(await restore(true)).toBe('done');
    const restored = sqliteLog({ path: join(folder(), 'own.db') });
    const info = await restored.info('chat');
    expect(info?.through).toBe(8);
    expect(info?.incarnation).not.toBe(incarnation);
    // No epoch of the replaced log is used again.
    expect((await restored.open('chat')).epoch).toBeGreaterThan(1_000_000_000);
    await restored.close();
    expect(await codeOf(restoreBackup({ path, target: server('x'), replace: true }))).toBe(
      'bad_backup',
    );
  });

  test('21.3: replaces a damaged store, and refuses a damaged backup before it changes anything', async () => {
    const path = join(folder(), 'good.backup');
    const log = sqliteLog({ path: join(folder(), 'good.db') });
    await fill(log);
    await log.close();
    await writeBackup(sessions('good.db'), path);
    writeFileSync(join(folder(), 'damaged.db'), 'no database'.repeat(1000));
    const target = sessions('damaged.db');
    expect(await codeOf(restoreBackup({ path, target, replace: false }))).toBe('not_empty');
    await restoreBackup({ path, target, replace: true });
    expect((await contentsIn('damaged.db')).contents).toEqual(
      (await contentsIn('good.db')).contents,
    );
    const whole = readFileSync(path);
    const text = whole.indexOf('remark 3');
    expect(text).toBeGreaterThan(0);
    const changed = Buffer.from(whole);
    changed[text] = 0x52;
    const bad = { changed, cut: whole.subarray(0, whole.length - 4096), empty: Buffer.alloc(0) };
    for (const [name, bytes] of Object.entries(bad)) {
      writeFileSync(join(folder(), name), bytes);
      const broken = { path: join(folder(), name), target: sessions('good.db'), replace: true };
      expect([name, await codeOf(restoreBackup(broken))]).toEqual([name, 'bad_backup']);
    }
    const missing = { path: join(folder(), 'nothing'), target, replace: true };
    expect(await codeOf(restoreBackup(missing))).toBe('no_backup');
    expect((await contentsIn('good.db')).contents.sessions['chat']?.lines).toHaveLength(9);
  });
});

test('21.3: the commands report what they saved and restored, with paths from where they are typed', async () => {
  const log = sqliteLog({ path: join(folder(), 'typed.db') });
  await fill(log);
  await log.close();
  makeFolder(join(folder(), 'elsewhere'));
  const run = async (...argv: string[]) => {
    const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
    const streams = { stdin: new PassThrough(), stdout, stderr };
    const signal = new AbortController().signal;
    const host = { argv, env: { HOME: folder() }, cwd: folder(), signal, ...streams };
    const code = await runCommand(host);
    return [code, stdout.text + stderr.text] as const;
  };
  const elsewhere = ['--cwd', 'elsewhere'];
  const [code, text] = await run('backup', 'typed.backup', '--store', 'typed.db', ...elsewhere);
  expect([code, text]).toEqual([
    0,
    expect.stringMatching(/^Backed up 2 sessions, 1 blob of .*typed\.db to .*typed\.backup\n$/),
  ]);
  const into = ['restore', 'typed.backup', '--store', 'typed again.db'];
  expect(await run(...into)).toEqual([
    0,
    expect.stringMatching(/^Restored 2 sessions, 1 blob of \d{4}-.* into .*typed again\.db/),
  ]);
  expect(await run(...into)).toEqual([1, expect.stringMatching(/not empty. Add --replace/)]);
  expect((await run(...into, '--replace'))[0]).toBe(0);
  expect(await run('backup')).toEqual([2, expect.stringContaining('millrace backup <file>')]);
  expect((await run('backup', 'x', '--replace'))[0]).toBe(2);
  const secret = 's3cret-word';
  const [failed, words] = await run(
    'backup',
    'x',
    '--store',
    `postgres://me:${secret}@127.0.0.1:1/shop`,
  );
  expect([failed, words]).toEqual([1, expect.stringContaining('127.0.0.1:1/shop')]);
  expect(words).not.toContain(secret);
});
