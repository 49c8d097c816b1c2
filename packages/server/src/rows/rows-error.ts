import { type ErrorPlace, MillraceError } from '@millrace/core';

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

export function closedRows(): RowsError {
  return new RowsError('closed', 'Cannot use rows that were closed. Open them again');
}
