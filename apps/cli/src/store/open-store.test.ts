import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sessionId } from '@millrace/core';
import { LogError } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { openStore, storePath, withStore } from './open-store.ts';

const folder = temporaryFolder('store');
const modeOf = (path: string) => statSync(path).mode & 0o777;
const openAt = (store: string) => openStore({ config: { store }, env: {} });

describe('the file of the sessions', () => {
  test.each([
    ['where it is configured', { store: '/a/b.db' }, { XDG_DATA_HOME: '/x' }, '/a/b.db'],
    ['in the data folder', {}, { XDG_DATA_HOME: '/x', HOME: '/h' }, '/x/millrace/sessions.db'],
    ['in the home', {}, { HOME: '/h' }, '/h/.local/share/millrace/sessions.db'],
    [
      'in the home where the data folder is relative',
      {},
      { XDG_DATA_HOME: 'x', HOME: '/h' },
      '/h/.local/share/millrace/sessions.db',
    ],
  ])('is %s', (_where, config, env, path) => {
    expect(storePath(config, env)).toBe(path);
  });

  test('has to be named where there is no home', () => {
    expect(() => storePath({}, {})).toThrow(/HOME.*--store/);
  });

  test('is made with its folder and what lies beside it, for its owner alone', async () => {
    const env = { XDG_DATA_HOME: join(folder(), 'data') };
    const { log, path, close } = await openStore({ config: {}, env });
    const driver = await log.open(sessionId('s'));
    await driver.append([{ turn: 0, attempt: 0, fact: { type: 'aborted' } }]);
    expect(path).toBe(join(folder(), 'data/millrace/sessions.db'));
    expect(modeOf(join(folder(), 'data/millrace'))).toBe(0o700);
    expect([path, `${path}-wal`, `${path}-shm`].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
    await close();
  });

  test('is closed to others where it was open to them', async () => {
    const path = join(folder(), 'open.db');
    await (await openAt(path)).close();
    chmodSync(path, 0o644);
    await (await openAt(path)).close();
    expect(modeOf(path)).toBe(0o600);
  });

  test('25: keeps its mode for a command that only reads', async () => {
    const config = { store: join(folder(), 'read.db') };
    await (await openAt(config.store)).close();
    chmodSync(config.store, 0o640);
    expect(await withStore({ config, env: {} }, ({ log }) => log.list())).toEqual([]);
    expect(modeOf(config.store)).toBe(0o640);
  });

  test('keeps what was written for the next who opens it', async () => {
    const path = join(folder(), 'kept.db');
    const first = await openAt(path);
    await (await first.log.open(sessionId('s'))).release();
    await first.close();
    const second = await openAt(path);
    expect((await second.log.list()).map(({ session }) => session)).toEqual(['s']);
    await second.close();
  });
});

describe('a store that cannot be used is a typed error that says what to do', () => {
  const errorAt = async (path: string): Promise<LogError> => {
    const error = await openAt(path).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LogError);
    return error as LogError;
  };

  test('where it is damaged', async () => {
    const path = join(folder(), 'damaged.db');
    writeFileSync(path, 'This is no database, and was one never.'.repeat(100));
    const { code, message } = await errorAt(path);
    expect(code).toBe('corrupt');
    expect(message).toContain(path);
    expect(message).toMatch(/move the file away.*--store/);
  });

  test('where a later version wrote it', async () => {
    const path = join(folder(), 'later.db');
    await (await openAt(path)).close();
    const database = new DatabaseSync(path);
    database.exec('PRAGMA user_version = 999');
    database.close();
    const { code, message } = await errorAt(path);
    expect(code).toBe('too_new');
    expect(message).toMatch(/Update millrace.*--store/);
  });

  test('where a folder stands in its place', async () => {
    const path = join(folder(), 'folder.db');
    mkdirSync(path);
    expect(await errorAt(path)).toMatchObject({ code: 'storage' });
  });

  test('25: where a command that only reads needs space or permission: it names a copy', async () => {
    const config = { store: join(folder(), 'full.db') };
    await (await openAt(config.store)).close();
    const fail = async () => {
      throw new LogError('storage_full', 'Cannot use the log: the disk is full');
    };
    await expect(withStore({ config, env: {} }, fail)).rejects.toThrow(
      `Commands that only read also need write access to the file and its folder, and space on the disk. Without them, read a copy: cp ${config.store}* <folder>, then use --store <folder>/full.db`,
    );
    await expect(withStore({ config, env: {}, mustExist: false }, fail)).rejects.toThrow(
      'To use another file: --store <file>',
    );
  });

  test('where what stands there is no file, which stays as it was', async () => {
    const path = join(folder(), 'pipe');
    execFileSync('mkfifo', ['-m', '644', path]);
    const { code, message } = await errorAt(path);
    expect(code).toBe('storage');
    expect(message).toMatch(/it is not a regular file.*--store/);
    expect(modeOf(path)).toBe(0o644);
  });

  test('where its folder cannot be made', async () => {
    const file = join(folder(), 'file');
    writeFileSync(file, '');
    const { code, message } = await errorAt(join(file, 'sessions.db'));
    expect(code).toBe('storage');
    expect(message).toMatch(/not a folder.*--store/);
  });
});
