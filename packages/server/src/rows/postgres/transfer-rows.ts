import { PostgresDatabase, postgresTarget, type Query } from '@millrace/log/postgres';
import type { StoredRow } from '../../contract/rows.ts';
import { importedKeys } from '../row-query.ts';
import { migrations } from './schema.ts';

/** The default schema of `postgresRows`. */
const defaultSchema = 'millrace_rows';
const rowsPerQuery = 500;

interface RowColumns {
  readonly tbl: string;
  readonly id: string;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly keys: string;
  readonly data: string;
  /** The epoch. The first version of the tables does not have it. */
  readonly epoch?: number;
}

/**
 * Reads all rows that `postgresRows` stored, for a backup. The rows are not converted. `query` must run in a
 * snapshot, so that all rows are from the same moment. A schema without tables has no rows.
 */
export async function* exportPostgresRows(
  query: Query,
  schema: string = defaultSchema,
): AsyncGenerator<StoredRow> {
  const exists = 'SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2';
  if ((await query(exists, [schema, 'rows'])).length === 0) return;
  let after: readonly [string, string] = ['', ''];
  for (;;) {
    const sql = `SELECT * FROM ${schema}.rows WHERE (tbl, id) > ($1, $2) ORDER BY tbl, id LIMIT $3`;
    const page = await query<RowColumns>(sql, [...after, rowsPerQuery]);
    for (const { tbl, id, version, created_at, updated_at, keys, data, epoch = 0 } of page) {
      const times = { createdAt: Number(created_at), updatedAt: Number(updated_at) };
      const numbers = { version: Number(version), epoch: Number(epoch) };
      yield { table: tbl, id, ...numbers, ...times, keys, data };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < rowsPerQuery) return;
    after = [last.tbl, last.id];
  }
}

/** Options of `importPostgresRows`. */
export interface ImportRowsOptions {
  /** The connection URL of the database. */
  readonly url: string;
  /** The schema for the tables, which must have no rows. Default: `millrace_rows`. */
  readonly schema?: string | undefined;
}

/** Stores the rows of a backup for `postgresRows`. The rows are not converted. */
export async function importPostgresRows(
  { url, schema = defaultSchema }: ImportRowsOptions,
  rows: Iterable<StoredRow>,
): Promise<void> {
  const target = postgresTarget('rows', url, schema);
  const database = new PostgresDatabase({ target, migrations, retryMs: 0, maxReaders: 1 });
  try {
    await database.transact(async (execute) => {
      for (const stored of rows) {
        const { table, id, version, createdAt, updatedAt, data, epoch } = stored;
        const parsed = importedKeys(stored);
        const keys = JSON.stringify(parsed);
        const row = [table, id, version, createdAt, updatedAt, keys, data, epoch];
        await execute(`INSERT INTO ${schema}.rows VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, row);
        const values = [table, id, createdAt, updatedAt];
        await execute(
          `INSERT INTO ${schema}.row_keys
           SELECT $1, $2, key, value, $3, $4 FROM unnest($5::text[], $6::text[]) AS k (key, value)`,
          [...values, Object.keys(parsed), Object.values(parsed)],
        );
      }
    });
  } finally {
    await database.close();
  }
}
