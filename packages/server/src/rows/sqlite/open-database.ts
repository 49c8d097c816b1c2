import type { DatabaseSync } from 'node:sqlite';
import { openPrivateDatabase } from '@millrace/log/sqlite';
import { RowsError } from '../../contract/rows.ts';

const pauseMs = 5;

/** Opens the file. Creates the tables if they do not exist, or upgrades them. */
export function openDatabase(path: string, busyTimeoutMs: number): DatabaseSync {
  const database = openPrivateDatabase(path, { timeout: busyTimeoutMs, makesPrivate: true });
  try {
    // If several processes create the file at the same time, only one of them succeeds. SQLite does not wait
    // in this case, so this code retries.
    retryWhileBusy(busyTimeoutMs, () => prepareFile(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function prepareFile(database: DatabaseSync, path: string): void {
  const application = queryValue(database, 'PRAGMA application_id');
  // The code checks the file before it changes the journal mode, because the file may belong to a different
  // program.
  if (application !== 0) migrate(database, path);
  if (queryValue(database, 'PRAGMA journal_mode = WAL') !== 'wal') {
    const message = `Cannot open ${path}: its file system does not support shared memory. Move it to a local disk`;
    throw new RowsError('storage', message, { path });
  }
  database.exec('PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON');
  migrate(database, path);
}

function retryWhileBusy(timeoutMs: number, run: () => void): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { readonly errcode?: number };
  return (errcode & 0xff) === 5;
}

/** The application id in the file: the bytes "mrow". It distinguishes the file from a log. */
const applicationId = 0x6d726f77;

/** SQL scripts. Each script upgrades the file by one version. */
const migrations: readonly string[] = [
  `CREATE TABLE rows (
     tbl TEXT NOT NULL,
     id TEXT NOT NULL,
     version INTEGER NOT NULL,
     created_at REAL NOT NULL,
     updated_at REAL NOT NULL,
     keys TEXT NOT NULL,
     data TEXT NOT NULL,
     PRIMARY KEY (tbl, id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX rows_created ON rows (tbl, created_at, id);
   CREATE INDEX rows_updated ON rows (tbl, updated_at, id);
   -- The times are here again, so that a list by a key is read in order and not sorted.
   CREATE TABLE row_keys (
     tbl TEXT NOT NULL,
     id TEXT NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     created_at REAL NOT NULL,
     updated_at REAL NOT NULL,
     PRIMARY KEY (tbl, id, key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX keys_created ON row_keys (tbl, key, value, created_at, id);
   CREATE INDEX keys_updated ON row_keys (tbl, key, value, updated_at, id);
   CREATE UNIQUE INDEX names ON row_keys (tbl, value) WHERE key = 'name';`,
  // Stores the epoch of the run that wrote a row. Older versions insert one column less, so they can no
  // longer write rows.
  'ALTER TABLE rows ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0',
  // Lists select tasks by their place: recent, kept or archived. The tasks of older versions become recent.
  `UPDATE rows SET keys = json_set(keys, '$.place', 'recent')
     WHERE tbl = 'tasks' AND json_extract(keys, '$.is_shown') = 'yes';
   INSERT INTO row_keys SELECT tbl, id, 'place', 'recent', created_at, updated_at FROM row_keys
     WHERE tbl = 'tasks' AND key = 'is_shown' AND value = 'yes';`,
];

/** Creates or upgrades the tables. Throws if a newer version or a different program created the file. */
function migrate(database: DatabaseSync, path: string): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    const found = readVersion(database, path);
    for (const step of migrations.slice(found)) database.exec(step);
    if (found < migrations.length)
      database.exec(
        `PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${applicationId}`,
      );
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Throws `too_new` if a newer version has migrated the file after it was opened. Every writing transaction
 * must call it.
 */
export function assertCurrentVersion(database: DatabaseSync, path: string): void {
  const version = Number(queryValue(database, 'PRAGMA user_version'));
  if (version !== migrations.length) throw laterVersion(path, version);
}

function readVersion(database: DatabaseSync, path: string): number {
  const version = Number(queryValue(database, 'PRAGMA user_version'));
  const isOurs = queryValue(database, 'PRAGMA application_id') === applicationId;
  if (!isOurs && queryValue(database, 'SELECT count(*) FROM sqlite_schema') !== 0) {
    const message = `Cannot open ${path}: it is the database of another program. Choose another path`;
    throw new RowsError('storage', message, { path });
  }
  if (version > migrations.length) throw laterVersion(path, version);
  return version;
}

function laterVersion(path: string, version: number): RowsError {
  const message = `Cannot use the rows in ${path}: their schema is version ${version}, and this release supports up to version ${migrations.length}. Use a later release`;
  return new RowsError('too_new', message, { path, version });
}

/** Runs a query and returns its single value. */
function queryValue(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0];
}
