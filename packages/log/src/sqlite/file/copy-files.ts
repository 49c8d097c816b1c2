import { backup, DatabaseSync } from 'node:sqlite';
import { storageError } from '../storage-error.ts';

/** A SQLite file and the path of its copy, which must not exist. */
export interface FileCopy {
  readonly from: string;
  readonly to: string;
}

/** The time to wait for a transaction of another process, in milliseconds. */
const busyTimeoutMs = 5000;
/** A number larger than the number of pages of any file. With this number, the copy is made in one step. */
const allPages = 2 ** 31 - 1;

/**
 * Copies several SQLite files while other processes use them. All copies are from the same moment. Writers
 * wait only until the read transactions have begun. They do not wait for the copies.
 *
 * @example await copySqliteFiles([{ from: 'sessions.db', to: 'a' }, { from: 'tasks.db', to: 'b' }]);
 */
export async function copySqliteFiles(files: readonly FileCopy[]): Promise<void> {
  const readers = atOneMoment(files.map(({ from }) => from));
  try {
    // The backup reads in the transaction of its connection, so it copies the state at the start of the
    // transaction.
    for (const [index, { from, to }] of files.entries()) {
      const reader = readers[index];
      if (reader === undefined) continue;
      await backup(reader, to, { rate: allPages }).catch((error: unknown) => {
        throw storageError(error, from);
      });
    }
  } finally {
    for (const reader of readers) reader.close();
  }
}

/** Returns connections with open read transactions that all see the same moment. */
function atOneMoment(paths: readonly string[]): readonly DatabaseSync[] {
  const opened: DatabaseSync[] = [];
  const locks: DatabaseSync[] = [];
  try {
    for (const path of paths) {
      const lock = open(path, locks);
      // No process can commit to any of the files until all transactions below have begun.
      guard(path, () => lock.exec('BEGIN IMMEDIATE'));
    }
    for (const path of paths) {
      const reader = open(path, opened);
      // A transaction begins with its first read, so this statement reads from the database.
      guard(path, () => reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema'));
    }
    return opened;
  } catch (error) {
    for (const database of opened) database.close();
    throw error;
  } finally {
    for (const lock of locks) lock.close();
  }
}

function open(path: string, into: DatabaseSync[]): DatabaseSync {
  const database = guard(path, () => new DatabaseSync(path, { timeout: busyTimeoutMs }));
  into.push(database);
  return database;
}

function guard<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw storageError(error, path);
  }
}
