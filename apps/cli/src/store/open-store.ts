import { constants } from 'node:fs';
import { chmod, open, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '@millrace/agent';
import { MillraceError } from '@millrace/core';
import { type Log, LogError, type LogErrorCode } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import { shellQuote } from '../args/command-hint.ts';
import { userDataFolder } from '../config/config-paths.ts';
import type { Config } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { makeFolder } from '../make-folder.ts';
import type { OutputStream } from '../print/output.ts';

/** The open session store. */
export interface Store {
  readonly log: Log;
  readonly path: string;
  close(): Promise<void>;
}

export interface OpenStoreOptions {
  readonly config: Pick<Config, 'store' | 'chain'>;
  readonly env: Env;
  readonly clock?: Clock | undefined;
  /**
   * True if the command needs a store that exists. If the user names a file that does not exist, the command then
   * fails and creates no file. The default store is always created. A store that exists keeps its mode. Default:
   * false.
   */
  readonly mustExist?: boolean | undefined;
}

/**
 * Opens the session store. Creates it if it is missing, unless `mustExist` is true. Throws a
 * `LogError` with advice for the user.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { config, env, clock = systemClock, mustExist = false } = options;
  const path = storePath(config, env);
  if (mustExist && config.store !== undefined) await assertExists(path);
  // The module is loaded on demand, because help and `--version` do not need a database.
  const { sqliteLog } = await import('@millrace/log/sqlite');
  try {
    await ensurePrivateFile(path, { keepsMode: mustExist });
    const log = sqliteLog({ path, clock, chain: config.chain });
    return { log, path, close: () => log.close() };
  } catch (error) {
    throw addStoreAdvice(error, path, mustExist);
  }
}

/** The options of a command that reads the store and prints. */
export interface StoreCommandOptions<Args> {
  readonly args: Args;
  readonly config: Pick<Config, 'store'>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Env;
  readonly cwd: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the store, calls `use`, and always closes the store. Most commands only read it, so by default a file that
 * the user names must exist.
 */
export async function withStore<T>(
  options: Pick<OpenStoreOptions, 'config' | 'env' | 'mustExist'>,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const { mustExist = true } = options;
  const store = await openStore({ ...options, mustExist });
  try {
    return await use(store);
  } catch (error) {
    throw error instanceof LogError ? addStoreAdvice(error, store.path, mustExist) : error;
  } finally {
    await store.close();
  }
}

/**
 * Returns the path of the session store. It is the configured path, or by default a path in the
 * user's data folder.
 */
export function storePath(config: Pick<Config, 'store'>, env: Env): string {
  return config.store ?? join(dataFolder(env), 'sessions.db');
}

function dataFolder(env: Env): string {
  const folder = userDataFolder(env);
  if (folder !== undefined) return folder;
  throw new MillraceError(
    'no_home',
    'Cannot find a folder for the sessions: neither XDG_DATA_HOME nor HOME is set. Choose a file with --store <file>',
  );
}

/** Throws if the file of the store is missing. Other problems are found when the store is opened. */
async function assertExists(path: string): Promise<void> {
  const isMissing = await stat(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
  if (!isMissing) return;
  const message = `There is no session store at ${path}. Correct --store <file>, MILLRACE_STORE or "store" in your own configuration. A relative path of --store starts at the folder in which you type the command. millrace, millrace -p, millrace serve, millrace eval and millrace sessions import create a store`;
  throw new MillraceError('no_store', message, { path });
}

const ownerOnlyMode = 0o600;
// Without O_NONBLOCK, the process would block if a FIFO is at the path of the file.
const appendFlags =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

interface PrivateFileOptions {
  /** If true, a file that exists keeps its mode. If false, only its owner can read it afterwards. Default: false. */
  readonly keepsMode?: boolean | undefined;
}

/**
 * Creates the file and its folders if they are missing, so that only their owner can read them.
 * SQLite gives the same mode to its files next to the database. So call this function before SQLite
 * opens the file. Throws if the path is a pipe or a device. Opening it could block forever, and its
 * mode must not change. Throws if a file of a different user is beside it. Throws if all users can
 * write to the folder, unless the file keeps its mode.
 */
export async function ensurePrivateFile(
  path: string,
  { keepsMode = false }: PrivateFileOptions = {},
): Promise<void> {
  makeFolder(dirname(path));
  const { assertNoForeignFiles, assertNotForAll, sharedFolderOf } = await import(
    '@millrace/log/sqlite'
  );
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile() && !found.isDirectory()) throw notAFile(path);
  const shared = sharedFolderOf(path);
  if (shared !== undefined) assertNoForeignFiles(path, shared);
  const file = await open(path, appendFlags, ownerOnlyMode);
  try {
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0 && !keepsMode) await chmod(path, ownerOnlyMode);
    if (shared !== undefined && !keepsMode) assertNotForAll(path, shared);
  } finally {
    await file.close();
  }
}

function notAFile(path: string): LogError {
  return new LogError('storage', `Cannot use the log at ${path}: it is not a regular file`, {
    path,
  });
}

/** Adds advice about the flags of the command to an error of the log. */
function addStoreAdvice(error: unknown, path: string, onlyReads: boolean): unknown {
  const known = error instanceof LogError ? error : fileError(error, path);
  const advice = known && adviceFor(known.code, path);
  if (known === undefined || advice === undefined) return error;
  const message = `${known.message}. ${onlyReads && needsWriting(known) ? copyAdvice(path) : advice}`;
  return new LogError(known.code, message, known.place, { cause: error });
}

/** True if the file or its folder cannot be written, for example because the disk is full. */
function needsWriting({ code, place }: LogError): boolean {
  const { errno = '', errcode = 0 } = place;
  return (
    code === 'storage_full' ||
    ['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(String(errno)) ||
    unwritableCodes.has(Number(errcode) & 0xff)
  );
}

/** SQLite's codes for missing permission, a read-only file, a full disk and a file that cannot be created. */
const unwritableCodes: ReadonlySet<number> = new Set([3, 8, 13, 14]);

function copyAdvice(path: string): string {
  const copies = `cp ${shellQuote(path)}* <folder>`;
  return `Commands that only read also need write access to the file and its folder, and space on the disk. Without them, read a copy: ${copies}, then use --store <folder>/${basename(path)}`;
}

function adviceFor(code: LogErrorCode, path: string): string | undefined {
  switch (code) {
    case 'corrupt':
      return `To start over, move the file away (with ${path}-wal), or use another one with --store <file>`;
    case 'too_new':
      return 'Update millrace, or use another file with --store <file>';
    case 'storage':
    case 'storage_full':
      return 'To use another file: --store <file>';
    default:
      return undefined;
  }
}

/**
 * Converts a system error about the file or its folder to a `LogError`. Returns undefined for other
 * errors.
 */
function fileError(error: unknown, path: string): LogError | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string' || syscall === undefined) return undefined;
  const why = reasonByErrno.get(code) ?? `the system reports ${code}`;
  return new LogError('storage', `Cannot use the log at ${path}: ${why}`, { path, errno: code });
}

const reasonByErrno: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['ENOENT', 'its folder cannot be created'],
  ['EROFS', 'its disk is read-only'],
  ['ENOTDIR', 'a part of its path is a file, not a folder'],
  ['EEXIST', 'a part of its path is a file, not a folder'],
  ['EISDIR', 'it is a folder'],
  ['ENOSPC', 'the disk is full'],
]);
