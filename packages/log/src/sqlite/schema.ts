import type { DatabaseSync } from 'node:sqlite';
import { LogError } from '../contract/log-error.ts';

/**
 * The application id in the file: the ASCII codes of "mill". Other tools can recognize the file by this id.
 */
const applicationId = 0x6d696c6c;

/** SQL scripts. Each script migrates the file to the next version. */
export const migrations: readonly string[] = [
  `CREATE TABLE sessions (
     -- Never used again: a session that is gone must not be taken for another.
     key INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     made INTEGER NOT NULL,
     rewrites INTEGER NOT NULL,
     through INTEGER NOT NULL,
     created_at REAL NOT NULL,
     changed_at REAL NOT NULL,
     is_closed INTEGER NOT NULL,
     epoch INTEGER NOT NULL,
     lease TEXT,
     open_work TEXT NOT NULL,
     queued_commands INTEGER NOT NULL,
     origin TEXT,
     sum INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX sessions_with_work ON sessions (id)
     WHERE is_closed = 0 AND (open_work <> '[]' OR queued_commands > 0);
   CREATE TABLE chunks (
     session INTEGER NOT NULL,
     last INTEGER NOT NULL,
     first INTEGER NOT NULL,
     sum INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (session, last)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE producers (
     session INTEGER NOT NULL,
     producer TEXT NOT NULL,
     state TEXT NOT NULL,
     sum INTEGER NOT NULL,
     PRIMARY KEY (session, producer)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE commands (
     session INTEGER NOT NULL,
     key TEXT NOT NULL,
     offset INTEGER NOT NULL,
     is_consumed INTEGER NOT NULL,
     sum INTEGER NOT NULL,
     PRIMARY KEY (session, key)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE blobs (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
   -- Stored so often and not named since: who stored it is about to name it.
   CREATE TABLE blob_holds (
     hash TEXT PRIMARY KEY,
     count INTEGER NOT NULL,
     put_at REAL NOT NULL
   ) STRICT, WITHOUT ROWID;
   -- How many records of a session name it.
   CREATE TABLE blob_uses (
     session INTEGER NOT NULL,
     hash TEXT NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (session, hash)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX blob_uses_by_hash ON blob_uses (hash);
   -- One row. How many drivers and sessions there ever were: what is made anew must not count again.
   CREATE TABLE counters (drivers INTEGER NOT NULL, sessions INTEGER NOT NULL) STRICT;
   INSERT INTO counters VALUES (0, 0);`,
  `-- The history that the offsets belong to. 0: none yet. -1: a backup, which gets one when it is opened.
   ALTER TABLE counters ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0;
   -- The new name stops programs of version 1 that are running: they do not keep the tables below.
   ALTER TABLE sessions RENAME TO log_sessions;
   CREATE VIEW sessions AS SELECT * FROM log_sessions;
   ${['INSERT', 'UPDATE', 'DELETE']
     .map(
       (change) => `CREATE TRIGGER no_${change.toLowerCase()} INSTEAD OF ${change} ON sessions BEGIN
         SELECT RAISE(ABORT, 'a later version of the program has migrated this log to version 2; use that version');
       END;`,
     )
     .join('\n')}
   -- Pages have no checksum. A second index finds a session that damage hides from the first.
   CREATE UNIQUE INDEX sessions_again ON log_sessions (length(id), id);
   -- How often content was erased whose bytes may still be in the WAL, or in the file below it.
   ALTER TABLE counters ADD COLUMN erasures INTEGER NOT NULL DEFAULT 0;
   -- The length of a blob whose bytes are in pieces. Null: they are in its row. The first slice of a
   -- long blob of version 1 moves its bytes into pieces.
   ALTER TABLE blobs ADD COLUMN length INTEGER;
   CREATE TABLE blob_pieces (
     hash TEXT NOT NULL,
     piece INTEGER NOT NULL,
     sum INTEGER NOT NULL,
     bytes BLOB NOT NULL,
     PRIMARY KEY (hash, piece)
   ) STRICT;
   CREATE TRIGGER drop_blob_pieces AFTER DELETE ON blobs BEGIN
     DELETE FROM blob_pieces WHERE hash = OLD.hash;
   END;
   -- Snapshots of folded sessions. Deleting them costs only time.
   CREATE TABLE snapshots (
     session INTEGER NOT NULL,
     part INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (session, part)
   ) STRICT;`,
  `-- The end of the session's hash chain. Null: the session has no chain.
   ALTER TABLE log_sessions ADD COLUMN chain TEXT;`,
];

/** The version of the tables that this program uses. */
export const schemaVersion: number = migrations.length;

/**
 * Creates the tables, or migrates tables of an earlier version. Throws if a later version or a different
 * program created the file.
 */
export function migrate(
  database: DatabaseSync,
  path: string,
  steps: readonly string[] = migrations,
): void {
  if (versionOf(database, path, steps.length) === steps.length) return;
  // The version is read again inside the transaction, because another process may have migrated the file.
  inTransaction(database, 'IMMEDIATE', () => {
    const found = versionOf(database, path, steps.length);
    for (const step of steps.slice(found)) database.exec(step);
    database.exec(
      `PRAGMA user_version = ${steps.length}; PRAGMA application_id = ${applicationId}`,
    );
  });
}

/**
 * Returns the version of the tables, or 0 if there are no tables. Throws if a different program created the
 * file.
 */
export function versionOf(
  database: DatabaseSync,
  path: string,
  known: number = migrations.length,
): number {
  // The queries run in one transaction, because another process may create the tables between them.
  const { application, version, tables } = inTransaction(database, 'DEFERRED', () => ({
    application: singleValue(database, 'PRAGMA application_id'),
    version: Number(singleValue(database, 'PRAGMA user_version')),
    tables: singleValue(database, 'SELECT count(*) FROM sqlite_schema'),
  }));
  if (application !== applicationId && tables !== 0) throw foreignDatabase(path);
  if (version > known) throw tooNew(path, version, known);
  return version;
}

/** Runs `work` in a transaction. If a transaction is already open, `work` runs in that transaction. */
export function inTransaction<T>(database: DatabaseSync, kind: string, work: () => T): T {
  if (database.isTransaction) return work();
  database.exec(`BEGIN ${kind}`);
  try {
    const value = work();
    database.exec('COMMIT');
    return value;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Runs a query and returns the first column of the first row. */
export function singleValue(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0];
}

/** Returns the error for a file that a later version of the program has migrated. */
export function tooNew(path: string, version: number, known: number): LogError {
  const message = `Cannot use the log at ${path}: its schema is version ${version}, and this program supports up to ${known}. Use a later version of the program`;
  return new LogError('too_new', message, { path, version });
}

function foreignDatabase(path: string): LogError {
  const message = `Cannot open ${path}: it belongs to another program. Choose another path`;
  return new LogError('storage', message, { path });
}
