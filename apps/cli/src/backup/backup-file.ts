import { createHash } from 'node:crypto';
import { closeSync, copyFileSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { MillraceError } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import type { StoredRow } from '@millrace/server';
import { databaseFiles } from '../config/config-paths.ts';

// A backup is one SQLite file, which `sqliteLog` can open as a log. It has two additional tables.
// One contains the rows of the server. The other describes the backup and contains a checksum.

/**
 * Describes the content of a backup. `server` means that the backup also contains the rows of a
 * server.
 */
export interface BackupSummary {
  readonly kind: 'sessions' | 'server';
  /** The time at which the backup was created, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly sessions: number;
  readonly blobs: number;
  readonly rows: number;
}

const formatVersion = 1;
const [infoTable, rowsTable] = ['backup_info', 'backup_rows'];

/**
 * Creates an empty file that only this user can read. The permissions are set before any data is
 * written. SQLite gives the same permissions to the files that it creates next to this file.
 */
export function createPrivateFile(path: string): void {
  closeSync(openSync(path, 'wx', 0o600));
}

/**
 * Turns a copied log into a backup. `rows` is undefined if the store does not belong to a server.
 */
export async function finishBackup(
  path: string,
  rows: AsyncIterable<StoredRow> | Iterable<StoredRow> | undefined,
): Promise<BackupSummary> {
  const database = new DatabaseSync(path);
  try {
    // The backup must be one file, so the write-ahead log is switched off. An incarnation of -1
    // makes a SQLite log choose a new incarnation when it opens the file.
    database.exec('PRAGMA journal_mode = DELETE; UPDATE counters SET incarnation = -1');
    database.exec(`CREATE TABLE ${infoTable} (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
      CREATE TABLE ${rowsTable} (
        tbl TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at REAL NOT NULL,
        updated_at REAL NOT NULL, keys TEXT NOT NULL, data TEXT NOT NULL,
        epoch INTEGER NOT NULL, PRIMARY KEY (tbl, id)
      ) STRICT, WITHOUT ROWID`);
    const put = database.prepare(`INSERT INTO ${rowsTable} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
    database.exec('BEGIN');
    for await (const { table, id, version, createdAt, updatedAt, keys, data, epoch } of rows ?? [])
      put.run(table, id, version, createdAt, updatedAt, keys, data, epoch);
    // A row rejects runs whose epoch is earlier than its own. So new runs of the log must get later
    // epochs than all rows.
    const last = `(SELECT coalesce(max(epoch), 0) FROM ${rowsTable})`;
    database.exec(`UPDATE counters SET drivers = max(drivers, ${last})`);
    const summary: BackupSummary = {
      kind: rows === undefined ? 'sessions' : 'server',
      createdAt: Date.now(),
      ...countsOf(database),
    };
    const info = database.prepare(`INSERT INTO ${infoTable} VALUES (?, ?)`);
    info.run('format', String(formatVersion));
    info.run('summary', JSON.stringify(summary));
    info.run('sha256', digestOf(database));
    database.exec('COMMIT');
    return summary;
  } finally {
    database.close();
  }
}

/**
 * Checks that a backup is complete and unchanged. Throws `bad_backup`, or `too_new` if a newer
 * version wrote the backup.
 */
export function verifyBackup(path: string): BackupSummary {
  const database = openBackup(path);
  try {
    const virtual = `SELECT 1 FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'`;
    if (database.prepare(virtual).get() !== undefined)
      throw badBackup(path, 'it has virtual tables');
    const info = new Map(
      database
        .prepare(`SELECT name, value FROM ${infoTable}`)
        .all()
        .map(({ name, value }) => [String(name), String(value)]),
    );
    if (Number(info.get('format')) > formatVersion) throw tooNew(path);
    const summary = JSON.parse(info.get('summary') ?? '{}') as BackupSummary;
    const counts = countsOf(database);
    const isWhole =
      counts.sessions === summary.sessions &&
      counts.blobs === summary.blobs &&
      counts.rows === summary.rows;
    if (!isWhole) throw badBackup(path, 'sessions, blobs or rows are missing');
    if (digestOf(database) !== info.get('sha256'))
      throw badBackup(path, 'its checksum does not match');
    const [check] = database.prepare('PRAGMA integrity_check(1)').all();
    if (check?.['integrity_check'] !== 'ok') throw badBackup(path, 'its pages are damaged');
    return summary;
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw badBackup(path, error instanceof Error ? error.message : String(error), error);
  } finally {
    database.close();
  }
}

/** Reads the server's rows from a backup. */
export function* rowsOf(path: string): Generator<StoredRow> {
  const database = openBackup(path);
  try {
    for (const row of database.prepare(`SELECT * FROM ${rowsTable}`).iterate())
      yield {
        table: String(row['tbl']),
        id: String(row['id']),
        version: Number(row['version']),
        createdAt: Number(row['created_at']),
        updatedAt: Number(row['updated_at']),
        keys: String(row['keys']),
        data: String(row['data']),
        epoch: Number(row['epoch']),
      };
  } finally {
    database.close();
  }
}

/**
 * Writes the log of a backup to an empty file. New tables are created in the file, and only the
 * rows are copied. So a trigger in the backup cannot affect later writes.
 */
export async function writeLogFile(from: string, to: string): Promise<void> {
  const copy = `${to}-copy`;
  try {
    createPrivateFile(copy);
    copyFileSync(from, copy);
    // Opening a file creates its tables, or migrates the tables of an earlier version.
    for (const path of [copy, to]) await sqliteLog({ path, onRewound: () => {} }).close();
    copyRows(copy, to);
  } finally {
    for (const file of databaseFiles(copy)) rmSync(file, { force: true });
  }
}

function copyRows(from: string, to: string): void {
  const database = new DatabaseSync(to, { enableForeignKeyConstraints: false });
  try {
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA trusted_schema = OFF');
    database.prepare('ATTACH ? AS backup').run(from);
    database.exec('BEGIN');
    const tables = database.prepare(`SELECT name FROM main.sqlite_schema WHERE type = 'table'`);
    for (const { name } of tables.all()) {
      const columns = database.prepare(`PRAGMA main.table_info(${name})`).all();
      const names = columns.map((column) => String(column['name'])).join(', ');
      database.exec(`DELETE FROM main.${name};
        INSERT INTO main.${name} (${names}) SELECT ${names} FROM backup.${name}`);
    }
    // An incarnation of -1 makes the log choose a new incarnation when it opens this file.
    database.exec('UPDATE main.counters SET incarnation = -1; COMMIT');
  } finally {
    database.close();
  }
}

function openBackup(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly: true });
  } catch (error) {
    throw badBackup(path, 'it cannot be opened', error);
  }
}

function countsOf(database: DatabaseSync): Pick<BackupSummary, 'sessions' | 'blobs' | 'rows'> {
  const count = (table: string) =>
    Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count']);
  return { sessions: count('sessions'), blobs: count('blobs'), rows: count(rowsTable) };
}

/** Returns a checksum of all rows in all tables, except the table that contains the checksum. */
function digestOf(database: DatabaseSync): string {
  const hash = createHash('sha256');
  const tables = database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
      AND name <> '${infoTable}' ORDER BY name`)
    .all()
    .map(({ name }) => String(name));
  for (const table of tables) {
    const columns = database.prepare(`PRAGMA table_info(${table})`).all();
    const keys = columns
      .filter(({ pk }) => Number(pk) > 0)
      .sort((a, b) => Number(a['pk']) - Number(b['pk']))
      .map(({ name }) => String(name));
    hash.update(`${table}\n`);
    const order = keys.length === 0 ? 'rowid' : keys.join(', ');
    for (const row of database.prepare(`SELECT * FROM ${table} ORDER BY ${order}`).iterate())
      for (const value of Object.values(row)) {
        const bytes = value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value));
        hash.update(`${bytes.length} `).update(bytes);
      }
  }
  return hash.digest('hex');
}

function badBackup(path: string, why: string, cause?: unknown): MillraceError {
  const message = `Cannot use the backup ${path}: ${why}. Nothing was changed. Use another backup`;
  return new MillraceError('bad_backup', message, { path }, { cause });
}

function tooNew(path: string): MillraceError {
  const message = `Cannot use the backup ${path}: a later version of millrace wrote it. Update millrace`;
  return new MillraceError('too_new', message, { path });
}
