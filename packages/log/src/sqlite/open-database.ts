import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LogError } from '../contract/log-error.ts';
import { migrate, singleValue, versionOf } from './schema.ts';

/** What is safe when: `process`, if the program dies; `power`, if the machine does. */
export type Durability = 'process' | 'power';

export interface DatabaseOptions {
  readonly path: string;
  readonly durability: Durability;
  /** How long another process's transaction is waited for. */
  readonly busyTimeoutMs: number;
  /** What the file may grow to. */
  readonly maxBytes?: number | undefined;
}

/** What is misspelt must not make a log less safe than it was meant to be. */
export function assertFileOptions(options: Omit<DatabaseOptions, 'path'>): void {
  const { durability, busyTimeoutMs, maxBytes = 1 } = options;
  const isKnown = durability === 'process' || durability === 'power';
  if (!isKnown) throw badOption('durability', durability, "it is 'process' or 'power'");
  const isWait = Number.isInteger(busyTimeoutMs) && busyTimeoutMs >= 0;
  if (!isWait) throw badOption('busyTimeoutMs', busyTimeoutMs, 'it is a whole number from 0 on');
  if (!(typeof maxBytes === 'number' && maxBytes > 0))
    throw badOption('maxBytes', maxBytes, 'it is a number of bytes');
}

function badOption(name: string, value: unknown, rule: string): LogError {
  return new LogError('bad_option', `Cannot take ${name} ${value} as it is: ${rule}`, { name });
}

/** After so much was written, whoever commits brings it over into the file: 4 MiB. */
const checkpointPages = 1024;
/** What is left of the journal when it starts anew, however long it once was. */
const journalBytes = 8 * 2 ** 20;

/** The file, made or brought up to date, and set up as this log needs it. */
export function openDatabase(options: DatabaseOptions): DatabaseSync {
  const { path, busyTimeoutMs } = options;
  // SQLite would open a file that it may only read, and leave a journal beside it that nobody may write.
  if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
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
  // Several who make a file at once exclude each other here, and SQLite lets nobody wait for it.
  retryWhileBusy(busyTimeoutMs, () => prepareFile(database, path));
  database.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  database.exec(`PRAGMA journal_size_limit = ${journalBytes}`);
  // What was redacted or deleted must not stay in the file as what a free page once held.
  database.exec('PRAGMA secure_delete = ON');
  // Damage is noticed when a page is read, not when it has spread.
  database.exec('PRAGMA cell_size_check = ON');
  if (maxBytes !== undefined) limitPages(database, maxBytes);
  migrate(database, path);
}

/** Looks before it changes anything: the file may be another program's. */
function prepareFile(database: DatabaseSync, path: string): void {
  versionOf(database, path);
  // Only a file that is still empty takes this: pages that become free can then be given back.
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

/** What SQLite says where somebody else has the file. */
const busyCode = 5;
const pauseMs = 5;

function limitPages(database: DatabaseSync, maxBytes: number): void {
  const pageBytes = Number(singleValue(database, 'PRAGMA page_size'));
  database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
}

function noWalSupport(path: string): LogError {
  const message = `Cannot open ${path}: its file system does not let processes share memory, which a log needs. Put it on a local disk`;
  return new LogError('storage', message, { path });
}

/**
 * Where the file really is, whatever the current folder becomes and through whichever link it is named:
 * its journal lies beside that. Throws for what SQLite would not keep in a file.
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
  const message = `Cannot keep a log at ${JSON.stringify(path)}: it is the path of a file. For one in memory there is memoryLog`;
  return new LogError('bad_option', message, { path });
}
