import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { rowCases } from '../suite/index.ts';
import { sqliteRows } from './sqlite-rows.ts';
import { exportSqliteRows, importSqliteRows } from './transfer-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));
/** Returns a stored row without its keys, because a migration may add keys. */
const withoutKeys = ({ keys: _, ...row }: Readonly<Record<string, unknown>>) => row;
let files = 0;
const newPath = () => join(folder, `${files++}.db`);

describe('rows in SQLite pass the suite', () => {
  const cases = rowCases({
    isDurable: true,
    async create(clock) {
      const path = newPath();
      return { open: async () => sqliteRows({ path, clock }), remove: async () => {} };
    },
  });
  for (const { name, run } of cases) test(name, run);
});

describe('a file of rows', () => {
  test.skipIf(process.platform === 'win32')(
    '18.869: attack: other users cannot read the file',
    async () => {
      const path = newPath();
      writeFileSync(path, '');
      chmodSync(path, 0o644);
      const rows = sqliteRows({ path });
      await rows.put('states', { id: 'a', keys: {}, data: {} });
      for (const end of ['', '-wal', '-shm']) expect(statSync(path + end).mode & 0o777).toBe(0o600);
      await rows.close();
    },
  );

  const counting = `
    import { sqliteRows } from ${JSON.stringify(new URL('./sqlite-rows.ts', import.meta.url).href)};
    const rows = sqliteRows({ path: process.argv[1] });
    for (let done = 0; done < 50; ) {
      const row = await rows.get('states', 'count');
      const data = { n: (row?.data.n ?? 0) + 1 };
      done += await rows
        .put('states', { id: 'count', keys: {}, data }, { ifVersion: row?.version ?? 0 })
        .then(() => 1, (error) => { if (error.code === 'conflict') return 0; throw error; });
    }
    await rows.close();`;

  function count(path: string): Promise<number | null> {
    const args = ['--conditions=@millrace/source', '--input-type=module', '--eval', counting, path];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    return new Promise((resolve) => child.on('exit', resolve));
  }

  test('loses no update when three processes increment a counter', async () => {
    const path = newPath();
    expect(await Promise.all([count(path), count(path), count(path)])).toEqual([0, 0, 0]);
    const rows = sqliteRows({ path });
    const row = await rows.get('states', 'count');
    await rows.close();
    expect(row).toMatchObject({ data: { n: 150 }, version: 150 });
  });

  test('of another program, of a later version, or that is not a database, is left unchanged', () => {
    const foreign = newPath();
    const database = new DatabaseSync(foreign);
    database.exec('CREATE TABLE notes (text TEXT)');
    expect(() => sqliteRows({ path: foreign })).toThrow(/another program/);
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' });
    database.close();

    const later = newPath();
    void sqliteRows({ path: later }).close();
    const newer = new DatabaseSync(later);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect(() => sqliteRows({ path: later })).toThrow(/version 99/);

    const text = newPath();
    writeFileSync(
      text,
      'a text that is long enough not to be taken for an empty database'.repeat(20),
    );
    expect(() => sqliteRows({ path: text })).toThrow(/not a database/);
    expect(() => sqliteRows({ path: join(folder, 'no', 'folder.db') })).toThrow(/cannot be opened/);
  });

  test('21.A: of version 1 is migrated and keeps everything, and an earlier release cannot write to it', async () => {
    const path = newPath();
    copyFileSync(new URL('../../../fixtures/rows/version-1.db', import.meta.url), path);
    const earlier = new DatabaseSync(path);
    const before = earlier.prepare('SELECT * FROM rows ORDER BY tbl, id').all();
    const rows = sqliteRows({ path });
    expect(await rows.get('tasks', 'task-1')).toMatchObject({
      ...{ version: 2, epoch: 0, createdAt: 1_763_200_000_001, updatedAt: 1_763_200_000_004 },
      ...{ keys: { name: 'order-task-1' }, data: { status_reason: 'second version' } },
    });
    const shown = await rows.list('tasks', { where: { is_shown: 'yes' } });
    expect(shown.map(({ id }) => id)).toEqual(['task-1', 'task-2']);
    const after = earlier.prepare('SELECT * FROM rows ORDER BY tbl, id').all();
    expect(after.map(withoutKeys)).toEqual(
      before.map((row) => ({ ...withoutKeys(row), epoch: 0 })),
    );
    const put = 'INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)';
    expect(() => earlier.prepare(put)).toThrow(/8 columns but 7 values/);
    earlier.close();
    expect(
      (await rows.put('tasks', { id: 'task-1', keys: {}, data: {} }, { epoch: 4 })).epoch,
    ).toBe(4);
    await rows.close();
  });

  test.each(['version-1.db', 'version-2.db'])(
    '22: the tasks of %s are in the recent part of lists',
    async (name) => {
      const path = newPath();
      copyFileSync(new URL(`../../../fixtures/rows/${name}`, import.meta.url), path);
      const rows = sqliteRows({ path });
      const recent = await rows.list('tasks', { where: { place: 'recent' } });
      expect(recent.map(({ id, keys }) => [id, keys['place']])).toEqual([
        ['task-1', 'recent'],
        ['task-2', 'recent'],
      ]);
      await rows.close();
    },
  );

  test('22: a backup of an earlier release is restored with places', async () => {
    const earlier = new URL('../../../fixtures/rows/version-2.db', import.meta.url).pathname;
    const path = newPath();
    importSqliteRows(path, exportSqliteRows(earlier));
    const rows = sqliteRows({ path });
    const recent = await rows.list('tasks', { where: { place: 'recent' } });
    expect(recent.map(({ id }) => id)).toEqual(['task-1', 'task-2']);
    await rows.close();
  });

  test('21.A: that a later release migrates while it is open takes no more writes', async () => {
    const path = newPath();
    const rows = sqliteRows({ path });
    await rows.put('tasks', { id: 'a', keys: {}, data: {} });
    const later = new DatabaseSync(path);
    later.exec('PRAGMA user_version = 99');
    later.close();
    const put = rows.put('tasks', { id: 'a', keys: {}, data: { n: 1 } });
    await expect(put).rejects.toMatchObject({ code: 'too_new', message: /version 99/ });
    await expect(rows.claim('tasks', 'a', 1)).rejects.toMatchObject({ code: 'too_new' });
    await rows.close();
  });

  test('lists by a key from its index, without sorting', async () => {
    const path = newPath();
    await sqliteRows({ path }).close();
    const database = new DatabaseSync(path);
    const { listSql } = await import('./sqlite-rows.ts');
    const query = { limit: 50, offset: 0, after: undefined } as const;
    for (const orderBy of ['createdAt', 'updatedAt'] as const) {
      for (const where of [
        [],
        [['agent_id', 'x']],
        [
          ['agent_id', 'x'],
          ['status', 'y'],
        ],
      ] as const) {
        const sql = listSql({ ...query, where, orderBy, direction: 'desc', maxLength: 1 });
        const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
        expect(JSON.stringify(plan)).not.toMatch(/TEMP B-TREE|SCAN/);
      }
    }
    database.close();
  });
});
