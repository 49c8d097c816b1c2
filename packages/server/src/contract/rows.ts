import { type ErrorPlace, type JsonObject, MillraceError } from '@millrace/core';

/** The tables of a row store. They contain data that is looked up by keys and not streamed. */
export type Table =
  | 'agents'
  | 'tasks'
  | 'states'
  | 'spans'
  | 'trackers'
  | 'tokens'
  | 'files'
  | 'webhooks';

/** A row: one stored document with its keys. */
export interface Row {
  readonly id: string;
  /** The version of the row. A new row has version 1, and each change adds one. */
  readonly version: number;
  /** The time at which the row was created, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The fields by which queries can select rows, for example `name`, `task_id`, `agent_id` or `status`. */
  readonly keys: Readonly<Record<string, string>>;
  /** The document itself. Queries cannot select rows by its content. */
  readonly data: JsonObject;
  /**
   * The epoch of the run that may change the row. 0 means that no run has claimed the row. A write with a
   * lower epoch is refused.
   */
  readonly epoch: number;
}

/** A row as a store keeps it: its keys and its document are JSON texts. Backups contain rows in this form. */
export interface StoredRow {
  readonly table: string;
  readonly id: string;
  readonly version: number;
  /** The time at which the row was created, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The JSON texts of the keys and of the document. */
  readonly keys: string;
  readonly data: string;
  /** The epoch of the last run that wrote the row. 0 if no run has written the row. */
  readonly epoch: number;
}

/** Selects and sorts the rows of a table. */
export interface RowQuery {
  /** Selects rows that have these keys with these values. Default: all rows. */
  readonly where?: Readonly<Record<string, string>> | undefined;
  /** The time by which rows are sorted. Default: `createdAt`. */
  readonly orderBy?: 'createdAt' | 'updatedAt' | undefined;
  /** The direction of the order. Default: `asc`. */
  readonly direction?: 'asc' | 'desc' | undefined;
  /** Maximum number of rows. Default: 50. */
  readonly limit?: number | undefined;
  /**
   * Maximum length of the documents, in characters of JSON. The page ends before the row with which it would be
   * longer, but has at least one row. A store that ignores it must hold `limit` large rows in memory. Default:
   * no limit.
   */
  readonly maxLength?: number | undefined;
  /** Number of rows to skip. Default: 0. */
  readonly offset?: number | undefined;
  /**
   * Returns only rows that follow this position in the sort order. The position stays valid if its row was
   * deleted. Default: starts with the first row.
   */
  readonly after?: { readonly at: number; readonly id: string } | undefined;
}

/** Options of `Rows.put`. */
export interface PutOptions {
  /**
   * Writes only if the stored row has this version. 0 means that the row must not exist. Default: always
   * writes.
   */
  readonly ifVersion?: number | undefined;
  /**
   * The epoch of the run that writes the row. The write fails with `fenced` if a later run has claimed the
   * row. Default: the write belongs to no run and is not checked.
   */
  readonly epoch?: number | undefined;
  /**
   * Does not change `updatedAt`, so the row keeps its position in lists. It has no effect on a new row.
   * Default: false.
   */
  readonly keepUpdatedAt?: boolean | undefined;
}

/** Options of `Rows.claim`. */
export interface ClaimOptions {
  /**
   * Replaces the stored epoch if it equals this value, even if the new epoch is lower. Use it after an older
   * copy has replaced the log. Default: only a lower epoch is replaced.
   */
  readonly replacing?: number | undefined;
}

/**
 * Stores small documents by table and id, with a few keys for queries. Implement this interface to use a
 * different database. The suite in `@millrace/server/suite` checks an implementation.
 */
export interface Rows {
  /** Returns a row. Returns undefined if the row does not exist. */
  get(table: Table, id: string): Promise<Row | undefined>;
  /**
   * Returns the rows with these ids, in any order. Ids without a row are left out. This method is optional. Implement
   * it if a query is slow, for example over a network: a server then looks up many tokens at once.
   */
  getMany?(table: Table, ids: readonly string[]): Promise<readonly Row[]>;
  /** Returns one page of rows. */
  list(table: Table, query?: RowQuery): Promise<readonly Row[]>;
  /**
   * Inserts or replaces a row. Throws `conflict` if the stored version differs from `ifVersion`, or if a
   * different row has the same unique key. Throws `fenced` if the row has a higher epoch than
   * `options.epoch`.
   */
  put(table: Table, row: Pick<Row, 'id' | 'keys' | 'data'>, options?: PutOptions): Promise<Row>;
  /**
   * Claims the row for the run with this epoch: earlier runs can no longer change it. Returns the row, whose
   * version and times do not change. If the epoch is not higher than the stored epoch, nothing is stored.
   * Returns undefined if the row does not exist.
   */
  claim(table: Table, id: string, epoch: number, options?: ClaimOptions): Promise<Row | undefined>;
  /**
   * Returns a text that changes whenever a process may have changed a row of the table. Pollers skip their
   * query while the text stays the same. This method is optional. Implement it only if it is very fast.
   */
  stamp?(table: Table): Promise<string>;
  /** Deletes a row. Returns false if the row does not exist. */
  delete(table: Table, id: string): Promise<boolean>;
  /** Closes the store. Every later call throws `closed`. */
  close(): Promise<void>;
}

/** Codes of a `RowsError`. */
export type RowsErrorCode =
  /** The row has a different version, or a different row has the same name. */
  | 'conflict'
  /** A later run has claimed the row. Nothing was stored. */
  | 'fenced'
  /** The store cannot accept this id, key, value or query. */
  | 'bad_row'
  | 'closed'
  /** The disk or the database file failed. */
  | 'storage'
  /** The disk is full, and the write had no effect. */
  | 'storage_full'
  | 'corrupt'
  /** A newer version of Millrace wrote the store. */
  | 'too_new';

/** An error of a row store. Its `code` identifies the problem. */
export class RowsError extends MillraceError<RowsErrorCode> {
  constructor(
    code: RowsErrorCode,
    message: string,
    place: ErrorPlace = {},
    options?: ErrorOptions,
  ) {
    super(code, message, place, options);
  }
}

export function versionConflict(
  table: string,
  id: string,
  expected: number,
  found: number,
): RowsError {
  const is = found === 0 ? 'it does not exist' : `it has version ${found}`;
  const wanted = expected === 0 ? 'no row was expected' : `version ${expected} was expected`;
  const message = `Cannot change ${id} of ${table}: ${wanted}, but ${is}. Read it again`;
  return new RowsError('conflict', message, { table, id, expected, found });
}

export function fencedRow(table: string, id: string, own: number, epoch: number): RowsError {
  const message = `Cannot change ${id} of ${table} as epoch ${own}: epoch ${epoch} has taken over its run. Nothing was stored`;
  return new RowsError('fenced', message, { table, id, own, epoch });
}

export function nameConflict(table: string, name: string, id: string): RowsError {
  const message = `Cannot use the name ${name} for ${id} of ${table}: another row has it. Choose another name`;
  return new RowsError('conflict', message, { table, id, name });
}

export function rowsClosed(): RowsError {
  return new RowsError('closed', 'Cannot use a closed row store. Open it again');
}
