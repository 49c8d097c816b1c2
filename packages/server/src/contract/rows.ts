import { type ErrorPlace, type JsonObject, MillraceError } from '@millrace/core';

/** What is kept beside the log: everything that is looked up rather than streamed. */
export type Table = 'agents' | 'tasks' | 'states' | 'spans' | 'trackers' | 'tokens';

export interface Row {
  readonly id: string;
  /** 1 when it is made; one more with each change. */
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** What it can be found by: `name`, `task_id`, `agent_id`, `status` … */
  readonly keys: Readonly<Record<string, string>>;
  readonly data: JsonObject;
}

export interface RowQuery {
  /** All of these have to be so. */
  readonly where?: Readonly<Record<string, string>> | undefined;
  readonly orderBy?: 'createdAt' | 'updatedAt' | undefined;
  readonly direction?: 'asc' | 'desc' | undefined;
  /** 50 unless told. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** The row after which to go on, in that order; it may be gone by now. */
  readonly after?: { readonly at: number; readonly id: string } | undefined;
}

export interface PutOptions {
  /** Only if the row has this version; 0: only if there is none. Whatever there is, unless told. */
  readonly ifVersion?: number | undefined;
}

/** Small documents by table and id, with a few keys to find them by. */
export interface Rows {
  get(table: Table, id: string): Promise<Row | undefined>;
  list(table: Table, query?: RowQuery): Promise<readonly Row[]>;
  /** Makes or replaces it. Throws `conflict` where another version, or another row with a unique key, is there. */
  put(table: Table, row: Pick<Row, 'id' | 'keys' | 'data'>, options?: PutOptions): Promise<Row>;
  /**
   * Another text whenever somebody may have changed a row of this table, whichever process he is in; for
   * stores that know it at next to no cost. Whoever waits for changes need not look while it is the same.
   */
  stamp?(table: Table): Promise<string>;
  /** False where there was none. */
  delete(table: Table, id: string): Promise<boolean>;
  close(): Promise<void>;
}

export type RowsErrorCode =
  /** Another version is there, or another row with that name. */
  | 'conflict'
  /** An id, a key or a value that cannot be kept, or a query that cannot be meant. */
  | 'bad_row'
  | 'closed'
  /** The disk or the file do not allow it. */
  | 'storage'
  | 'corrupt'
  /** Written by a later version. */
  | 'too_new';

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
  const is = found === 0 ? 'there is none' : `it is at version ${found}`;
  const wanted = expected === 0 ? 'none was expected' : `version ${expected} was expected`;
  const message = `Cannot change ${id} of ${table}: ${wanted}, and ${is}. Read it again`;
  return new RowsError('conflict', message, { table, id, expected, found });
}

export function nameConflict(table: string, name: string, id: string): RowsError {
  const message = `Cannot name ${id} of ${table} so: another one has the name ${name}. Choose another`;
  return new RowsError('conflict', message, { table, id, name });
}

export function rowsClosed(): RowsError {
  return new RowsError('closed', 'Cannot use rows that were closed. Open them again');
}
