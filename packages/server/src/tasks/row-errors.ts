import { RowsError } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';

export function noSuch(what: string, id: string): ServerError {
  const message = `Cannot find ${what} ${id.slice(0, 200)}: there is none`;
  return new ServerError('not_found', message, { [what]: id.slice(0, 200) });
}

/** What the rows refused, as whoever asked has to hear it. */
export function rowRefusal(error: unknown): unknown {
  if (!(error instanceof RowsError)) return error;
  const { code, message, place } = error;
  if (code === 'conflict') return new ServerError('conflict', message, place, { cause: error });
  if (code === 'bad_row') return new ServerError('invalid', message, place, { cause: error });
  if (code === 'closed') return new ServerError('unavailable', message, place, { cause: error });
  return error;
}

export function isConflict(error: unknown): boolean {
  return error instanceof RowsError && error.code === 'conflict';
}
