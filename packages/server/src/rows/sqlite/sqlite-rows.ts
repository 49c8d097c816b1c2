import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isId, isMillraceError, parseJson } from '@millrace/core';
import { type Clock, systemClock } from '@millrace/log';
import {
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
import { type CompleteQuery, checkRow, completeQuery } from '../row-query.ts';
import { openDatabase } from './open-database.ts';

export interface SqliteRowsOptions {
  /** The file. It is made if there is none; its folder has to be there. It cannot be that of a log. */
  readonly path: string;
  /** How long another process's transaction is waited for. */
  readonly busyTimeoutMs?: number | undefined;
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** Rows in one file, which any number of processes of one machine may have open. */
export function sqliteRows(options: SqliteRowsOptions): Rows {
  return new SqliteRows(options);
}

type StoredRow = Readonly<Record<string, unknown>>;

class SqliteRows implements Rows {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #database: DatabaseSync;
  /** By their text: there are as many as there are shapes of queries. */
  readonly #statements = new Map<string, StatementSync>();
  /** How often each table was written here: SQLite counts what others do, and not what this connection does. */
  readonly #writes = new Map<Table, number>();

  constructor({ path, busyTimeoutMs = 5000, clock = systemClock }: SqliteRowsOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#database = translateErrors(path, () => openDatabase(path, busyTimeoutMs));
  }

  async get(table: Table, id: string): Promise<Row | undefined> {
    return this.#do(() => (isId(id) ? this.#find(table, id) : undefined));
  }

  async list(table: Table, query: RowQuery = {}): Promise<readonly Row[]> {
    const complete = completeQuery(query);
    return this.#do(() => {
      if (complete === undefined) return [];
      const found = this.#prepare(listSql(complete)).all(...listParameters(table, complete));
      return found.map((row) => this.#toRow(table, row));
    });
  }

  async put(
    table: Table,
    row: Pick<Row, 'id' | 'keys' | 'data'>,
    options: PutOptions = {},
  ): Promise<Row> {
    checkRow(table, row);
    return this.#do(() => this.#written(table, () => this.#put(table, row, options)));
  }

  async delete(table: Table, id: string): Promise<boolean> {
    return this.#do(() =>
      this.#written(table, () => {
        this.#prepare('DELETE FROM row_keys WHERE tbl = ? AND id = ?').run(table, id);
        const sql = 'DELETE FROM rows WHERE tbl = ? AND id = ?';
        return this.#prepare(sql).run(table, id).changes > 0;
      }),
    );
  }

  async stamp(table: Table): Promise<string> {
    return this.#do(() => {
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
    this.#checkName(table, id, keys['name']);
    const now = this.#clock.now();
    const createdAt = before?.createdAt ?? now;
    const updatedAt = Math.max(now, before?.updatedAt ?? now);
    const json = [JSON.stringify(keys), JSON.stringify(data)] as const;
    this.#prepare('INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)').run(
      ...[table, id, version + 1, createdAt, updatedAt, ...json],
    );
    this.#prepare('DELETE FROM row_keys WHERE tbl = ? AND id = ?').run(table, id);
    const insert = this.#prepare('INSERT INTO row_keys VALUES (?, ?, ?, ?, ?, ?)');
    for (const [key, value] of Object.entries(keys))
      insert.run(table, id, key, value, createdAt, updatedAt);
    // Read back, so that whoever put it has no object in common with it.
    const kept = this.#find(table, id);
    if (kept === undefined) throw this.#damaged(table, id);
    return kept;
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
    if (!keys.ok || !data.ok) throw this.#damaged(table, id);
    return {
      id,
      version: Number(row['version']),
      createdAt: Number(row['created_at']),
      updatedAt: Number(row['updated_at']),
      keys: keys.value as Row['keys'],
      data: data.value as Row['data'],
    };
  }

  #damaged(table: Table, id: string): RowsError {
    const message = `Cannot read ${id} of ${table}: it was changed by something else. Restore a backup`;
    return new RowsError('corrupt', message, { table, id });
  }

  #do<T>(work: () => T): T {
    if (!this.#database.isOpen) throw rowsClosed();
    return translateErrors(this.#path, work);
  }

  #written<T>(table: Table, work: () => T): T {
    this.#writes.set(table, (this.#writes.get(table) ?? 0) + 1);
    return this.#inTransaction(work);
  }

  #inTransaction<T>(work: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
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

/** A question of one shape; its parameters come from `parametersOf`. */
export function listSql({ where, orderBy, direction, after }: CompleteQuery): string {
  const at = orderBy === 'createdAt' ? 'created_at' : 'updated_at';
  const isDown = direction === 'desc';
  const [first, ...others] = where;
  // Led by a key where there is one: its index has the rows in order already.
  const from = first === undefined ? 'rows p' : 'row_keys p';
  const lead = first === undefined ? '' : 'AND p.key = ? AND p.value = ?';
  const also = others.map(
    () =>
      'AND EXISTS (SELECT 1 FROM row_keys o WHERE o.tbl = p.tbl AND o.id = p.id AND o.key = ? AND o.value = ?)',
  );
  const since = after === undefined ? '' : `AND (p.${at}, p.id) ${isDown ? '<' : '>'} (?, ?)`;
  const order = isDown ? 'DESC' : 'ASC';
  return `SELECT r.* FROM ${from} JOIN rows r ON r.tbl = p.tbl AND r.id = p.id
    WHERE p.tbl = ? ${lead} ${also.join(' ')} ${since}
    ORDER BY p.${at} ${order}, p.id ${order} LIMIT ? OFFSET ?`;
}

export function listParameters(
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
  'another program holds it locked; close that program or wait',
];

/** What SQLite's primary result codes mean for whoever uses the rows. */
const meaningsByCode: ReadonlyMap<number, ErrorMeaning> = new Map<number, ErrorMeaning>([
  [1, damaged],
  [3, ['storage', 'it may not be used; give permission for the file and its folder']],
  [5, locked],
  [8, ['storage', 'it is read-only; give write permission for the file and its folder']],
  [10, ['storage', 'the disk reported an error; check the disk']],
  [11, damaged],
  [13, ['storage', 'the disk is full; make room']],
  [14, ['storage', 'it cannot be opened; check the folder and its permissions']],
  [15, locked],
  [26, ['corrupt', 'it is not a database; check the path']],
]);

/** Does it, and says what SQLite's refusal means. */
export function translateErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toRowsError(path, error);
  }
}

function toRowsError(path: string, cause: unknown): unknown {
  if (isMillraceError(cause)) return cause;
  const { errcode } = cause as { readonly errcode?: number };
  const meaning = errcode === undefined ? undefined : meaningsByCode.get(errcode & 0xff);
  if (meaning === undefined) return cause;
  const [code, what] = meaning;
  return new RowsError(code, `Cannot use the rows in ${path}: ${what}`, { path }, { cause });
}
