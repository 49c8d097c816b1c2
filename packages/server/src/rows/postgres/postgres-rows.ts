import { isId, isMillraceError, parseJson } from '@millrace/core';
import { type Clock, systemClock } from '@millrace/log';
import { PostgresDatabase, postgresTarget, type Query } from '@millrace/log/postgres';
import {
  type ClaimOptions,
  fencedRow,
  nameConflict,
  type PutOptions,
  type Row,
  type RowQuery,
  type Rows,
  RowsError,
  type RowsErrorCode,
  rowsClosed,
  type Table,
  versionConflict,
} from '../../contract/rows.ts';
import { checkEpoch, checkRow, completeQuery, nextUpdatedAt } from '../row-query.ts';
import { claimSql, listSql, migrations } from './schema.ts';

/** Options of `postgresRows`. */
export interface PostgresRowsOptions {
  /**
   * Connection URL, for example `postgres://user:password@host:5432/database`. It can be the same database as
   * the log's. Errors never contain the password.
   */
  readonly url: string;
  /**
   * The schema of the tables. It is created if it does not exist. It must not be the log's schema. Default:
   * `millrace_rows`.
   */
  readonly schema?: string | undefined;
  /** The source of time. Tests can replace it. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /**
   * The time for which an operation is retried after the connection was lost, in milliseconds. Then the
   * operation fails. If the value is not 0, there is at least one retry. Default: 15,000.
   */
  readonly retryMs?: number | undefined;
  /** Maximum number of connections. Default: 4. */
  readonly maxConnections?: number | undefined;
}

/**
 * Opens a row store in Postgres. Any number of processes on any number of machines can share it.
 *
 * @example
 * ```ts
 * const rows = await postgresRows({ url: 'postgres://user:password@localhost:5432/app' });
 * const server = createServer({ rows });
 * ```
 */
export async function postgresRows(options: PostgresRowsOptions): Promise<Rows> {
  return translateErrors(async () => {
    const rows = new PostgresRows(options);
    await rows.ready();
    return rows;
  });
}

interface StoredRow {
  readonly id: string;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly keys: string;
  readonly data: string;
  readonly epoch: number;
}

type StoredVersion = Pick<StoredRow, 'version'>;

type RowInput = Pick<Row, 'id' | 'keys' | 'data'>;

class PostgresRows implements Rows {
  readonly #database: PostgresDatabase;
  readonly #schema: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(options: PostgresRowsOptions) {
    const { schema = 'millrace_rows', clock = systemClock } = options;
    const { retryMs = 15_000, maxConnections: maxReaders = 4 } = options;
    const target = postgresTarget('rows', options.url, schema);
    this.#database = new PostgresDatabase({ target, migrations, retryMs, maxReaders });
    this.#schema = schema;
    this.#clock = clock;
  }

  async ready(): Promise<void> {
    try {
      await this.#database.withRetries(() => this.#database.ready());
    } catch (error) {
      await this.#database.close();
      throw error;
    }
  }

  async get(table: Table, id: string): Promise<Row | undefined> {
    return (await this.getMany(table, [id]))[0];
  }

  getMany(table: Table, ids: readonly string[]): Promise<readonly Row[]> {
    return this.#run(async () => {
      const sql = `SELECT * FROM ${this.#schema}.rows WHERE tbl = $1 AND id = ANY($2::text[])`;
      const found = await this.#database.read<StoredRow>(sql, [table, ids.filter(isId)]);
      return found.map((row) => this.#toRow(table, row));
    });
  }

  async list(table: Table, query: RowQuery = {}): Promise<readonly Row[]> {
    const complete = completeQuery(query);
    return this.#run(async () => {
      if (complete === undefined) return [];
      const { sql, values } = listSql(this.#schema, table, complete);
      const found = await this.#database.read<StoredRow>(sql, values);
      return found.map((row) => this.#toRow(table, row));
    });
  }

  async put(table: Table, row: RowInput, options: PutOptions = {}): Promise<Row> {
    checkRow(table, row);
    checkEpoch(table, options.epoch);
    // The row is serialized immediately, so later changes by the caller have no effect.
    const texts = { id: row.id, keys: JSON.stringify(row.keys), data: JSON.stringify(row.data) };
    const keys = { ...row.keys };
    return this.#run(() =>
      this.#database
        .transact((execute) => this.#put(execute, table, { ...texts, given: keys }, options))
        .catch((error: unknown) => {
          const { name = '' } = keys;
          // A different process stored the same name first, so the write violates the unique index.
          if (isMillraceError(error) && error.place['sqlstate'] === '23505')
            throw nameConflict(table, name, row.id);
          throw error;
        }),
    );
  }

  delete(table: Table, id: string): Promise<boolean> {
    return this.#run(async () => {
      if (!isId(id)) return false;
      return this.#database.transact(async (execute) => {
        await this.#lock(execute, table, id);
        await execute(`DELETE FROM ${this.#schema}.row_keys WHERE tbl = $1 AND id = $2`, [
          table,
          id,
        ]);
        const sql = `DELETE FROM ${this.#schema}.rows WHERE tbl = $1 AND id = $2 RETURNING id`;
        return (await execute(sql, [table, id])).length > 0;
      });
    });
  }

  claim(
    table: Table,
    id: string,
    epoch: number,
    { replacing }: ClaimOptions = {},
  ): Promise<Row | undefined> {
    return this.#run(async () => {
      checkEpoch(table, epoch);
      if (!isId(id)) return undefined;
      const { sql, values } = claimSql(this.#schema, table, id, epoch, replacing);
      // The statement is idempotent, so it can be retried like a read.
      const [claimed] = await this.#database.read<StoredRow>(sql, values);
      if (claimed !== undefined) return this.#toRow(table, claimed);
      const version = `SELECT version FROM ${this.#schema}.version`;
      const [found] = await this.#database.read<StoredVersion>(version, []);
      this.#checkVersion(found);
      return this.get(table, id);
    });
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #put(
    execute: Query,
    table: Table,
    row: Pick<StoredRow, 'id' | 'keys' | 'data'> & { readonly given: Row['keys'] },
    options: PutOptions,
  ): Promise<Row> {
    const { id, keys, data, given } = row;
    await this.#lock(execute, table, id);
    // This query locks the row, because a claim does not use the advisory lock.
    const before = await this.#find(execute, table, id, 'FOR UPDATE');
    const version = before?.version ?? 0;
    const { ifVersion = version } = options;
    if (ifVersion !== version) throw versionConflict(table, id, ifVersion, version);
    const epoch = before?.epoch ?? 0;
    const { epoch: own = epoch } = options;
    if (own < epoch) throw fencedRow(table, id, own, epoch);
    await this.#checkName(execute, table, id, given['name']);
    const now = this.#clock.now();
    const createdAt = before?.createdAt ?? now;
    const updatedAt = nextUpdatedAt(before, now, options);
    const times = [createdAt, updatedAt];
    const [stored] = await execute<StoredRow>(
      `INSERT INTO ${this.#schema}.rows VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (tbl, id) DO UPDATE SET version = excluded.version, epoch = excluded.epoch,
         updated_at = excluded.updated_at, keys = excluded.keys, data = excluded.data
       RETURNING *`,
      [table, id, version + 1, ...times, keys, data, own],
    );
    await execute(`DELETE FROM ${this.#schema}.row_keys WHERE tbl = $1 AND id = $2`, [table, id]);
    await execute(
      `INSERT INTO ${this.#schema}.row_keys
       SELECT $1, $2, key, value, $3, $4 FROM unnest($5::text[], $6::text[]) AS k (key, value)`,
      [table, id, ...times, Object.keys(given), Object.values(given)],
    );
    if (stored === undefined) throw this.#corruptRow(table, id);
    // The result is parsed from the stored text, so it shares no objects with the caller's row.
    return this.#toRow(table, stored);
  }

  /**
   * Locks a row for a writing transaction. It uses an advisory lock on the id, because a row that does not
   * exist yet cannot be locked. Throws `too_new` if a newer version has migrated the tables.
   */
  async #lock(execute: Query, table: Table, id: string): Promise<void> {
    const sql = `SELECT pg_advisory_xact_lock(hashtextextended($1, 0)), version FROM ${this.#schema}.version`;
    const [found] = await execute<StoredVersion>(sql, [JSON.stringify([this.#schema, table, id])]);
    this.#checkVersion(found);
  }

  #checkVersion(found: StoredVersion | undefined): void {
    const version = Number(found?.version ?? 0);
    if (version === migrations.length) return;
    const message = `Cannot use the rows in the schema ${this.#schema}: their schema is version ${version}, and this release supports up to version ${migrations.length}. Use a later release`;
    throw new RowsError('too_new', message, { schema: this.#schema, version });
  }

  async #checkName(
    execute: Query,
    table: Table,
    id: string,
    name: string | undefined,
  ): Promise<void> {
    if (name === undefined) return;
    const sql = `SELECT id FROM ${this.#schema}.row_keys WHERE tbl = $1 AND key = 'name' AND value = $2 AND id <> $3`;
    if ((await execute(sql, [table, name, id])).length > 0) throw nameConflict(table, name, id);
  }

  async #find(
    execute: Query,
    table: Table,
    id: string,
    lock: '' | 'FOR UPDATE' = '',
  ): Promise<Row | undefined> {
    const sql = `SELECT * FROM ${this.#schema}.rows WHERE tbl = $1 AND id = $2 ${lock}`;
    const [row] = await execute<StoredRow>(sql, [table, id]);
    return row && this.#toRow(table, row);
  }

  #toRow(table: Table, row: StoredRow): Row {
    const { id, version, created_at: createdAt, updated_at: updatedAt } = row;
    const [keys, data] = [parseJson(row.keys), parseJson(row.data)];
    if (!keys.ok || !data.ok) throw this.#corruptRow(table, id);
    const found = { keys: keys.value as Row['keys'], data: data.value as Row['data'] };
    return { id, version, createdAt, updatedAt, ...found, epoch: row.epoch };
  }

  #corruptRow(table: Table, id: string): RowsError {
    const message = `Cannot read row ${id} of ${table}: its stored JSON is invalid. Restore a backup`;
    return new RowsError('corrupt', message, { table, id });
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#database.isClosed) throw rowsClosed();
    return translateErrors(work);
  }
}

const rowsErrorCodes: readonly RowsErrorCode[] = [
  'conflict',
  'bad_row',
  'closed',
  'corrupt',
  'too_new',
  'fenced',
  'storage_full',
];

/** Runs the work and converts database errors to `RowsError`. */
async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toRowsError(error);
  }
}

function toRowsError(cause: unknown): unknown {
  if (!isMillraceError(cause) || cause instanceof RowsError) return cause;
  const known = rowsErrorCodes.find((one) => one === cause.code);
  const code = known ?? (cause.code === 'bad_records' ? 'bad_row' : 'storage');
  return new RowsError(code, cause.message, cause.place, { cause });
}
