import { type ErrorPlace, type JsonObject, MillraceError } from '@millrace/core';

/** The tables of a row store. They hold everything that is looked up instead of streamed. */
export type Table = 'agents' | 'tasks' | 'states' | 'spans' | 'trackers' | 'tokens';

/** One stored document. */
export interface Row {
  readonly id: string;
  /** 1 for a new row. Each change adds one. */
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The fields that queries can select by: `name`, `task_id`, `agent_id`, `status` and so on. */
  readonly keys: Readonly<Record<string, string>>;
  /** The document itself. Queries cannot select by it. */
  readonly data: JsonObject;
  /**
   * The epoch of the run that may change the row because of its progress. 0: no run has claimed the
   * row. A write with a lower epoch is refused.
   */
  readonly epoch: number;
}

/** A row as a store keeps it, with its texts unparsed. Backups contain it. */
export interface StoredRow {
  readonly table: string;
  readonly id: string;
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** JSON of the keys and of the document. */
  readonly keys: string;
  readonly data: string;
  /** The epoch of the run that wrote the row last. 0 if no run did. */
  readonly epoch: number;
}

/** Selects and sorts the rows of a table. */
export interface RowQuery {
  /** Keys that a row must have, with these values. Default: all rows. */
  readonly where?: Readonly<Record<string, string>> | undefined;
  /** Default: `createdAt`. */
  readonly orderBy?: 'createdAt' | 'updatedAt' | undefined;
  /** Default: `asc`. */
  readonly direction?: 'asc' | 'desc' | undefined;
  /** Maximum number of rows. Default: 50. */
  readonly limit?: number | undefined;
  /** Number of rows to skip. Default: 0. */
  readonly offset?: number | undefined;
  /** Continue after this row in the given order. The row may have been deleted since. */
  readonly after?: { readonly at: number; readonly id: string } | undefined;
}

/** Options of `Rows.put`. */
export interface PutOptions {
  /**
   * Write only if the row has this version. 0: only if the row does not exist. Default: always
   * write.
   */
  readonly ifVersion?: number | undefined;
  /**
   * The epoch of the run that the change follows from. The write is refused with `fenced` if a later
   * run has claimed the row. Default: the change does not follow from a run and is not refused.
   */
  readonly epoch?: number | undefined;
}

/** Options of `Rows.claim`. */
export interface ClaimOptions {
  /**
   * Replaces exactly this stored epoch, even if it is higher: it belongs to a log that was replaced
   * by an older copy. Default: only a lower epoch is replaced.
   */
  readonly replacing?: number | undefined;
}

/**
 * A store of small documents by table and id, with a few keys to query by. Implement it to use
 * another database; the suite in `@millrace/server/suite` checks an implementation.
 */
export interface Rows {
  /** Returns undefined if the row does not exist. */
  get(table: Table, id: string): Promise<Row | undefined>;
  /** Returns one page of rows. */
  list(table: Table, query?: RowQuery): Promise<readonly Row[]>;
  /**
   * Inserts or replaces a row. Throws `conflict` if the stored version differs from `ifVersion`, or
   * if another row has the same unique key, and `fenced` if the row has a higher epoch than
   * `options.epoch`.
   */
  put(table: Table, row: Pick<Row, 'id' | 'keys' | 'data'>, options?: PutOptions): Promise<Row>;
  /**
   * Stores that the run with this epoch is now the one that may change the row, and returns the row.
   * The version and the times stay the same. An epoch that is not higher than the stored one changes
   * nothing. Returns undefined if the row does not exist.
   */
  claim(table: Table, id: string, epoch: number, options?: ClaimOptions): Promise<Row | undefined>;
  /**
   * Returns a text that differs after any process may have changed a row of the table. Optional:
   * implement it only if it is almost free. Pollers skip their query while the text stays the same.
   */
  stamp?(table: Table): Promise<string>;
  /** Returns false if the row does not exist. */
  delete(table: Table, id: string): Promise<boolean>;
  /** Closes the store. Every later call throws `closed`. */
  close(): Promise<void>;
}

/** Codes of a `RowsError`. */
export type RowsErrorCode =
  /** The row has another version, or another row has the same name. */
  | 'conflict'
  /** The run that the change follows from was taken over by a later one. Nothing was stored. */
  | 'fenced'
  /** An id, key, value or query that the store cannot accept. */
  | 'bad_row'
  | 'closed'
  /** The disk or the file failed. */
  | 'storage'
  /** The disk is full. Nothing of this write was stored. */
  | 'storage_full'
  | 'corrupt'
  /** A later version of Millrace wrote the store. */
  | 'too_new';

/** An error of a row store. Its `code` says what to do. */
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
