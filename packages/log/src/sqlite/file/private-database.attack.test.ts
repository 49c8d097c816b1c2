import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isRequirementMissing } from '../../testing/external-programs.ts';
import { openPrivateDatabase, sqliteLog } from '../index.ts';

// Another user of the machine reads the files of a store, or writes a file beside it.

const missing = isRequirementMissing(
  process.geteuid?.() === 0,
  'The files get another owner, which needs root',
);
const neighbour = 65_534;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-private-'));
  const created = folder;
  onTestFinished(() => rmSync(created, { recursive: true, force: true }));
});

const modes = () =>
  readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);

const write = (path: string, makesPrivate?: boolean) => {
  const database = openPrivateDatabase(path, { makesPrivate });
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS notes (text TEXT)');
  database.exec("INSERT INTO notes VALUES ('secret')");
  return database;
};

describe.skipIf(process.platform === 'win32')('18.869: attack: the files of a store', () => {
  test('are readable only for their owner, also beside the database', () => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const database = write(join(folder, 'a.db'));
    expect(modes()).toEqual(['a.db', 'a.db-shm', 'a.db-wal'].map((name) => [name, 0o600]));
    database.close();
  });

  test.each([
    ['all users can read', 0o644, 0o600],
    ['all users can write', 0o666, 0o660],
    ['a group can write', 0o660, 0o660],
    ['only the owner can use', 0o600, 0o600],
  ])('that %s get the right mode', (_, before, after) => {
    write(join(folder, 'a.db')).close();
    writeFileSync(join(folder, 'a.db-wal'), '');
    for (const name of ['a.db', 'a.db-wal']) chmodSync(join(folder, name), before);
    const database = write(join(folder, 'a.db'), true);
    expect(modes()).toEqual(['a.db', 'a.db-shm', 'a.db-wal'].map((name) => [name, after]));
    database.close();
  });

  test('keep their mode if the store does not ask for a private one', () => {
    write(join(folder, 'a.db')).close();
    chmodSync(join(folder, 'a.db'), 0o644);
    write(join(folder, 'a.db')).close();
    expect(modes()).toEqual([['a.db', 0o644]]);
  });

  test('in memory need no file', () => {
    for (const path of [':memory:', '']) write(path, true).close();
    expect(existsSync(':memory:')).toBe(false);
  });
});

describe.skipIf(missing)('18.870: attack: another user writes a file beside a store', () => {
  beforeEach(() => {
    chownSync(folder, 0, neighbour);
    chmodSync(folder, 0o3770);
  });
  const plant = (path: string) => {
    writeFileSync(path, 'evil', { mode: 0o666 });
    chownSync(path, neighbour, neighbour);
  };

  test.each(['-journal', '-wal', '-shm', ''])('a.db%s', (ending) => {
    const path = join(folder, 'a.db');
    plant(path + ending);
    expect(() => openPrivateDatabase(path)).toThrow('belongs to another user');
    expect(() => sqliteLog({ path })).toThrow('belongs to another user');
    rmSync(path + ending);
    write(path).close();
    plant(path + ending);
    expect(() => openPrivateDatabase(path)).toThrow('belongs to another user');
  });

  test('beside the file to which a link points', () => {
    const path = join(folder, 'a.db');
    write(path).close();
    plant(`${path}-journal`);
    const own = mkdtempSync(join(tmpdir(), 'millrace-private-'));
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    symlinkSync(path, join(own, 'link.db'));
    expect(() => openPrivateDatabase(join(own, 'link.db'))).toThrow('belongs to another user');
  });
});
