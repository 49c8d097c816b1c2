import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { LogError } from '../contract/log-error.ts';
import { openPrivateDatabase } from './file/private-database.ts';
import { migrate, singleValue, versionOf } from './schema.ts';

/**
 * The kind of crash that committed records survive. `process`: a crash of the program. `power`: also a crash
 * of the machine.
 */
export type Durability = 'process' | 'power';

export interface DatabaseOptions {
  readonly path: string;
  readonly durability: Durability;
  /** The time to wait for a transaction of another process, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** Maximum size of the file in bytes. Default: no limit. */
  readonly maxBytes?: number | undefined;
}

/**
 * Checks the options. Without this check, a misspelled value could make a log less durable than the caller
 * wants.
 */
export function assertFileOptions(options: Omit<DatabaseOptions, 'path'>): void {
  const { durability, busyTimeoutMs, maxBytes = 1 } = options;
  const isKnown = durability === 'process' || durability === 'power';
  if (!isKnown) throw badOption('durability', durability, "it must be 'process' or 'power'");
  const isWait = Number.isInteger(busyTimeoutMs) && busyTimeoutMs >= 0;
  if (!isWait)
    throw badOption('busyTimeoutMs', busyTimeoutMs, 'it must be a whole number of 0 or more');
  if (!(typeof maxBytes === 'number' && maxBytes > 0))
    throw badOption('maxBytes', maxBytes, 'it must be a number of bytes above 0');
}

function badOption(name: string, value: unknown, rule: string): LogError {
  return new LogError('bad_option', `Cannot use ${name} ${value}: ${rule}`, { name });
}

/** When the WAL has this many pages (4 MiB), SQLite runs a checkpoint at the next commit. */
const checkpointPages = 1024;
/** Maximum size of the WAL file in bytes after it is reset. */
const journalBytes = 8 * 2 ** 20;

/** Opens the file, creates or migrates its tables, and applies all settings. */
export function openDatabase(options: DatabaseOptions): DatabaseSync {
  const { path, busyTimeoutMs } = options;
  // Without this check, SQLite would open a read-only file and create a WAL that no process can write.
  if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
  const database = openPrivateDatabase(path, { timeout: busyTimeoutMs });
  try {
    setUp(database, options);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function setUp(database: DatabaseSync, options: DatabaseOptions): void {
  const { path, durability, busyTimeoutMs, maxBytes } = options;
  // If several processes create the file at the same time, only one process succeeds. SQLite does not wait in
  // this case, so the other processes retry this step.
  retryWhileBusy(busyTimeoutMs, () => prepareFile(database, path));
  database.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  database.exec(`PRAGMA journal_size_limit = ${journalBytes}`);
  // This setting overwrites deleted data, so that redacted content does not stay in free pages.
  database.exec('PRAGMA secure_delete = ON');
  // With this setting SQLite detects damage when it reads a page, before the damage can spread.
  database.exec('PRAGMA cell_size_check = ON');
  if (maxBytes !== undefined) limitPages(database, maxBytes);
  migrate(database, path);
}

/** Prepares a new file. First, it checks that no other program created the file. */
function prepareFile(database: DatabaseSync, path: string): void {
  versionOf(database, path);
  // This setting works only while the file is empty. With it, free pages can later be returned to the disk.
  database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  if (singleValue(database, 'PRAGMA journal_mode = WAL') !== 'wal') throw noWalSupport(path);
}

function retryWhileBusy(timeoutMs: number, run: () => void): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return run();
    } catch (error) {
      const { errcode = 0 } = error as { readonly errcode?: number };
      if ((errcode & 0xff) !== busyCode || performance.now() >= deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

/** SQLite's result code for a locked file. */
const busyCode = 5;
const pauseMs = 5;

function limitPages(database: DatabaseSync, maxBytes: number): void {
  const pageBytes = Number(singleValue(database, 'PRAGMA page_size'));
  database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
}

function noWalSupport(path: string): LogError {
  const message = `Cannot open ${path}: its file system does not support shared memory, which the WAL needs. Move the file to a local disk`;
  return new LogError('storage', message, { path });
}

/**
 * Returns the real path of the file, without links and relative parts. All processes must use the same path,
 * because the WAL is beside the file. Throws for names with a special meaning in SQLite, such as `:memory:`.
 */
export function filePath(path: string): string {
  const isFile = typeof path === 'string' && path !== '' && !/^(:memory:$|file:)/.test(path);
  if (!isFile) throw notAFile(path);
  const whole = resolve(path);
  return realPath(whole) ?? join(realPath(dirname(whole)) ?? dirname(whole), basename(whole));
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function notAFile(path: string): LogError {
  const message = `Cannot open a log at ${JSON.stringify(path)}: it must be the path of a file. Use memoryLog for a log in memory`;
  return new LogError('bad_option', message, { path });
}
