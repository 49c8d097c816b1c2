import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isId, isMillraceError, parseJson } from '@millrace/core';
import { type Clock, LogError, systemClock } from '@millrace/log';
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
import {
  type CompleteQuery,
  checkEpoch,
  checkRow,
  completeQuery,
  isClaimed,
  nextUpdatedAt,
  takeLength,
} from '../row-query.ts';
import { assertCurrentVersion, openDatabase } from './open-database.ts';

/** Options of `sqliteRows`. */
export interface SqliteRowsOptions {
  /**
   * Path of the file. If the file does not exist, it is created, and only its owner can read it (0600). If all users
   * can read a file that exists, the file becomes private. Its folder must exist. It must not be the file of a log.
   */
  readonly path: string;
  /** The time to wait for a transaction of a different process, in milliseconds. Default: 5,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** The source of time. Tests can replace it. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/**
 * Opens a row store in a SQLite file. Any number of processes on one machine can share it.
 *
 * @example
 * ```ts
 * const rows = sqliteRows({ path: 'tasks.db' });
 * const server = createServer({ rows });
 * ```
 */
export function sqliteRows(options: SqliteRowsOptions): Rows {
  return new SqliteRows(options);
}

type StoredRow = Readonly<Record<string, unknown>>;

class SqliteRows implements Rows {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #database: DatabaseSync;
  /** Prepared statements by their SQL text. */
  readonly #statements = new Map<string, StatementSync>();
  /**
   * The number of writes by this connection, per table. SQLite's `data_version` does not count them, because
   * it counts only the writes of other connections.
   */
  readonly #writes = new Map<Table, number>();

  constructor({ path, busyTimeoutMs = 5000, clock = systemClock }: SqliteRowsOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#database = translateErrors(path, () => openDatabase(path, busyTimeoutMs));
  }

  async get(table: Table, id: string): Promise<Row | undefined> {
    return this.#run(() => (isId(id) ? this.#find(table, id) : undefined));
  }

  async list(table: Table, query: RowQuery = {}): Promise<readonly Row[]> {
    const complete = completeQuery(query);
    return this.#run(() => {
      if (complete === undefined) return [];
      const found = this.#prepare(listSql(complete)).iterate(...listParameters(table, complete));
      const { maxLength } = complete;
      return takeLength(found, maxLength, ({ data }) => String(data).length).map((row) =>
        this.#toRow(table, row),
      );
    });
  }

  async put(
    table: Table,
    row: Pick<Row, 'id' | 'keys' | 'data'>,
    options: PutOptions = {},
  ): Promise<Row> {
    checkRow(table, row);
    checkEpoch(table, options.epoch);
    return this.#run(() => this.#write(table, () => this.#put(table, row, options)));
  }

  async delete(table: Table, id: string): Promise<boolean> {
    return this.#run(() =>
      this.#write(table, () => {
        this.#prepare('DELETE FROM row_keys WHERE tbl = ? AND id = ?').run(table, id);
        const sql = 'DELETE FROM rows WHERE tbl = ? AND id = ?';
        return this.#prepare(sql).run(table, id).changes > 0;
      }),
    );
  }

  async claim(
    table: Table,
    id: string,
    epoch: number,
    { replacing }: ClaimOptions = {},
  ): Promise<Row | undefined> {
    checkEpoch(table, epoch);
    return this.#run(() => {
      const before = isId(id) ? this.#find(table, id) : undefined;
      if (before === undefined || !isClaimed(before.epoch, epoch, replacing)) return before;
      return this.#inTransaction(() => {
        const sql = `UPDATE rows SET epoch = ? WHERE tbl = ? AND id = ? AND (epoch < ? OR epoch = ?)`;
        this.#prepare(sql).run(epoch, table, id, epoch, replacing ?? -1);
        return this.#find(table, id);
      });
    });
  }

  async stamp(table: Table): Promise<string> {
    return this.#run(() => {
      const { data_version } = this.#prepare('PRAGMA data_version').get() ?? {};
      return `${data_version} ${this.#writes.get(table) ?? 0}`;
    });
  }

  async close(): Promise<void> {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #put(table: Table, row: Pick<Row, 'id' | 'keys' | 'data'>, options: PutOptions): Row {
    const { id, keys, data } = row;
    const before = this.#find(table, id);
    const version = before?.version ?? 0;
    const { ifVersion = version } = options;
    if (ifVersion !== version) throw versionConflict(table, id, ifVersion, version);
    const epoch = before?.epoch ?? 0;
    const { epoch: own = epoch } = options;
    if (own < epoch) throw fencedRow(table, id, own, epoch);
    this.#checkName(table, id, keys['name']);
    const now = this.#clock.now();
    const createdAt = before?.createdAt ?? now;
    const updatedAt = nextUpdatedAt(before, now, options);
    const json = [JSON.stringify(keys), JSON.stringify(data)] as const;
    this.#prepare('INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
      ...[table, id, version + 1, createdAt, updatedAt, ...json, own],
    );
    this.#prepare('DELETE FROM row_keys WHERE tbl = ? AND id = ?').run(table, id);
    const insert = this.#prepare('INSERT INTO row_keys VALUES (?, ?, ?, ?, ?, ?)');
    for (const [key, value] of Object.entries(keys))
      insert.run(table, id, key, value, createdAt, updatedAt);
    // The result is read from the file, so it shares no objects with the caller's row.
    const stored = this.#find(table, id);
    if (stored === undefined) throw this.#corruptRow(table, id);
    return stored;
  }

  #checkName(table: Table, id: string, name: string | undefined): void {
    if (name === undefined) return;
    const sql = "SELECT id FROM row_keys WHERE tbl = ? AND key = 'name' AND value = ? AND id <> ?";
    if (this.#prepare(sql).get(table, name, id) !== undefined) throw nameConflict(table, name, id);
  }

  #find(table: Table, id: string): Row | undefined {
    const row = this.#prepare('SELECT * FROM rows WHERE tbl = ? AND id = ?').get(table, id);
    return row && this.#toRow(table, row);
  }

  #toRow(table: Table, row: StoredRow): Row {
    const id = String(row['id']);
    const keys = parseJson(String(row['keys']));
    const data = parseJson(String(row['data']));
    if (!keys.ok || !data.ok) throw this.#corruptRow(table, id);
    return {
      id,
      version: Number(row['version']),
      createdAt: Number(row['created_at']),
      updatedAt: Number(row['updated_at']),
      keys: keys.value as Row['keys'],
      data: data.value as Row['data'],
      epoch: Number(row['epoch']),
    };
  }

  #corruptRow(table: Table, id: string): RowsError {
    const message = `Cannot read row ${id} of ${table}: its stored JSON is invalid. Restore a backup`;
    return new RowsError('corrupt', message, { table, id });
  }

  #run<T>(work: () => T): T {
    if (!this.#database.isOpen) throw rowsClosed();
    return translateErrors(this.#path, work);
  }

  #write<T>(table: Table, work: () => T): T {
    this.#writes.set(table, (this.#writes.get(table) ?? 0) + 1);
    return this.#inTransaction(work);
  }

  #inTransaction<T>(work: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      assertCurrentVersion(this.#database, this.#path);
      const value = work();
      this.#database.exec('COMMIT');
      return value;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Returns the SQL of a list query. `listParameters` returns its parameters. */
export function listSql({ where, orderBy, direction, after }: CompleteQuery): string {
  const at = orderBy === 'createdAt' ? 'created_at' : 'updated_at';
  const isDescending = direction === 'desc';
  const [first, ...others] = where;
  // A query with a key reads the table `row_keys` first, because the index of that table is already sorted.
  const from = first === undefined ? 'rows p' : 'row_keys p';
  const lead = first === undefined ? '' : 'AND p.key = ? AND p.value = ?';
  const also = others.map(
    () =>
      'AND EXISTS (SELECT 1 FROM row_keys o WHERE o.tbl = p.tbl AND o.id = p.id AND o.key = ? AND o.value = ?)',
  );
  const since = after === undefined ? '' : `AND (p.${at}, p.id) ${isDescending ? '<' : '>'} (?, ?)`;
  const order = isDescending ? 'DESC' : 'ASC';
  return `SELECT r.* FROM ${from} JOIN rows r ON r.tbl = p.tbl AND r.id = p.id
    WHERE p.tbl = ? ${lead} ${also.join(' ')} ${since}
    ORDER BY p.${at} ${order}, p.id ${order} LIMIT ? OFFSET ?`;
}

function listParameters(
  table: string,
  { where, after, limit, offset }: CompleteQuery,
): readonly (string | number)[] {
  const since = after === undefined ? [] : [after.at, after.id];
  return [table, ...where.flat(), ...since, limit, offset];
}

type ErrorMeaning = readonly [RowsErrorCode, string];

const damaged: ErrorMeaning = ['corrupt', 'the file is damaged; restore a backup'];
const locked: ErrorMeaning = [
  'storage',
  'another program has locked it; close that program or wait',
];

/** Maps SQLite's primary result codes to error codes and explanations. */
const meaningsByCode: ReadonlyMap<number, ErrorMeaning> = new Map<number, ErrorMeaning>([
  [1, damaged],
  [3, ['storage', 'access is denied; grant permission for the file and its folder']],
  [5, locked],
  [8, ['storage', 'it is read-only; grant write permission for the file and its folder']],
  [10, ['storage', 'the disk reported an error; check the disk']],
  [11, damaged],
  [13, ['storage_full', 'the disk is full. Nothing of this write was stored; make room']],
  [14, ['storage', 'it cannot be opened; check the folder and its permissions']],
  [15, locked],
  [26, ['corrupt', 'it is not a database; check the path']],
]);

/** Runs the work and converts SQLite errors to `RowsError`. */
function translateErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toRowsError(path, error);
  }
}

function toRowsError(path: string, cause: unknown): unknown {
  if (cause instanceof LogError)
    return new RowsError('storage', cause.message, { path }, { cause });
  if (isMillraceError(cause)) return cause;
  const { errcode } = cause as { readonly errcode?: number };
  const meaning = errcode === undefined ? undefined : meaningsByCode.get(errcode & 0xff);
  if (meaning === undefined) return cause;
  const [code, what] = meaning;
  return new RowsError(code, `Cannot use the rows in ${path}: ${what}`, { path }, { cause });
}
