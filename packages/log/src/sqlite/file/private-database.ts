import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { LogError } from '../../contract/log-error.ts';

/** Options of `openPrivateDatabase`, besides those of `DatabaseSync`. */
export interface PrivateDatabaseOptions extends DatabaseSyncOptions {
  /**
   * If true, an existing file that all users can read becomes private. A group that can write to the file keeps its
   * rights. Default: false, the file keeps its mode.
   */
  readonly makesPrivate?: boolean | undefined;
}

/**
 * Opens a SQLite file that contains data of users. All stores use this function.
 *
 * - A new file is readable only for its owner (0600). SQLite gives the same mode to its files beside the database.
 * - Files of other users beside the database are refused, because SQLite copies a journal into the database.
 *
 * Throws a `LogError` with the code `storage`.
 */
export function openPrivateDatabase(
  path: string,
  { makesPrivate = false, ...options }: PrivateDatabaseOptions = {},
): DatabaseSync {
  if (!isInMemory.test(path)) makeReady(path, makesPrivate);
  return new DatabaseSync(path, options);
}

/** Paths with a special meaning in SQLite. */
const isInMemory = /^(?::memory:|file:.*|)$/;

function makeReady(given: string, makesPrivate: boolean): void {
  const isNew = !existsSync(given);
  // SQLite creates its other files beside the real file.
  const path = isNew ? given : realpathSync(given);
  // If the folder does not exist, SQLite reports it.
  const shared = existsSync(dirname(path)) ? sharedFolderOf(path) : undefined;
  if (shared !== undefined) assertNoForeignFiles(path, shared);
  if (isNew) createPrivateFile(path);
  else if (makesPrivate) for (const file of databaseFiles(path)) removeOtherUsers(file);
}

/**
 * Creates an empty file that only its owner can read. If the file cannot be created, SQLite reports the reason
 * later.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch {}
}

function removeOtherUsers(path: string): void {
  const { mode } = lstatSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
  if ((mode & 0o007) === 0) return;
  const isOfGroup = (mode & 0o020) !== 0;
  try {
    chmodSync(path, mode & (isOfGroup ? 0o770 : 0o700));
  } catch {
    // Only the owner of the file can change its mode, and some file systems have no modes.
  }
}

/** Returns the path of a database, and the paths of all files that SQLite and a log create beside it. */
function databaseFiles(path: string): readonly string[] {
  return [path, ...['-wal', '-shm', '-journal', '-mark'].map((end) => path + end)];
}

/**
 * Returns the folder of a file if other users of this machine may put files into it, such as `/tmp`. Returns undefined
 * for a folder that only this user, root and the own group of the user can write to.
 */
export function sharedFolderOf(path: string): Stats | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  const folder = statSync(dirname(path));
  const isOwn = folder.uid === user || folder.uid === 0;
  const isOfGroup = (folder.mode & 0o020) !== 0 && folder.gid !== process.getgid?.();
  return isOwn && !isOfGroup && (folder.mode & 0o002) === 0 ? undefined : folder;
}

/**
 * Throws if a file of a different user is at the path of a database, or beside it. The content of such a file can
 * replace the content of the database: SQLite copies a journal into it. Files of the owner of the folder count as own
 * files, because containers often run as root in a folder of a different user.
 */
export function assertNoForeignFiles(path: string, folder: Stats): void {
  const owners = [process.getuid?.(), 0, folder.uid];
  for (const file of databaseFiles(path)) {
    const found = lstatSync(file, { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (!owners.includes(found.uid))
      throw notOwn(path, `${file} belongs to another user. Delete it`);
    if (file !== path && !found.isFile())
      throw notOwn(path, `${file} is not a regular file. Delete it`);
  }
}

/**
 * Throws if all users can write to the folder of a file. They could create a journal at any time. If the file system
 * shows that all users can write to the file itself, it has no file modes, and the folder can be private.
 */
export function assertNotForAll(path: string, folder: Stats): void {
  if ((folder.mode & 0o002) === 0 || (statSync(path).mode & 0o002) !== 0) return;
  throw notOwn(path, 'all users of this machine can write to its folder');
}

function notOwn(path: string, why: string): LogError {
  return new LogError('storage', `Cannot use the store at ${path}: ${why}`, { path });
}
