import { DatabaseSync } from 'node:sqlite';
import type { StoredRow } from '../../contract/rows.ts';
import { importedKeys } from '../row-query.ts';
import { openDatabase } from './open-database.ts';

const busyTimeoutMs = 5000;

/** Reads all rows of a file that `sqliteRows` wrote, for a backup. The rows are not converted. */
export function* exportSqliteRows(path: string): Generator<StoredRow> {
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  try {
    const all = database.prepare('SELECT * FROM rows ORDER BY tbl, id');
    for (const row of all.iterate())
      yield {
        table: String(row['tbl']),
        id: String(row['id']),
        version: Number(row['version']),
        createdAt: Number(row['created_at']),
        updatedAt: Number(row['updated_at']),
        keys: String(row['keys']),
        data: String(row['data']),
        // The first version of the tables has no column for epochs.
        epoch: Number(row['epoch'] ?? 0),
      };
  } finally {
    database.close();
  }
}

/**
 * Creates a file for `sqliteRows` with the rows of a backup. The rows are not converted. An existing file
 * must have no rows.
 */
export function importSqliteRows(path: string, rows: Iterable<StoredRow>): void {
  const database = openDatabase(path, busyTimeoutMs);
  try {
    database.exec('BEGIN IMMEDIATE');
    const putRow = database.prepare('INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
    const putKey = database.prepare('INSERT INTO row_keys VALUES (?, ?, ?, ?, ?, ?)');
    for (const row of rows) {
      const { table, id, version, createdAt, updatedAt, data, epoch } = row;
      const keys = importedKeys(row);
      putRow.run(table, id, version, createdAt, updatedAt, JSON.stringify(keys), data, epoch);
      for (const [key, value] of Object.entries(keys))
        putKey.run(table, id, key, value, createdAt, updatedAt);
    }
    database.exec('COMMIT');
  } finally {
    database.close();
  }
}
