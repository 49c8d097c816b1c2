import { ServerError } from '../../contract/server-error.ts';

/**
 * The position of a viewer: everything up to `offset`. With `k`, only the events up to the k-th of
 * the record at `offset`.
 */
export interface Cursor {
  readonly offset: number;
  readonly k?: number | undefined;
}

const cursorPattern = /^(\d{1,16})(?:\.(\d{1,9}))?$/;

/**
 * Parses `?from=` or `Last-Event-ID`. Empty text counts as absent, because browsers send it without
 * an id.
 */
export function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const [, offset, k] = cursorPattern.exec(text) ?? [];
  if (offset === undefined || !Number.isSafeInteger(Number(offset))) throw badCursor(text.length);
  return k === undefined ? { offset: Number(offset) } : { offset: Number(offset), k: Number(k) };
}

export function cursorId({ offset, k }: Cursor): string {
  return k === undefined ? `${offset}` : `${offset}.${k}`;
}

/** Throws if the offset is beyond the end of the log, instead of skipping records silently. */
export function assertInLog(session: string, { offset }: Cursor, through: number): void {
  if (offset <= through) return;
  const message = `Cannot resume task ${session} after offset ${offset}: its log ends at ${through}. Connect without from and Last-Event-ID to get the current state`;
  throw new ServerError('gone', message, { session, offset, through });
}

function badCursor(length: number): ServerError {
  const message = `Cannot resume: from or Last-Event-ID is not an offset (it has ${length} characters). Send the id of the last received event (such as 12 or 12.0), or none`;
  return new ServerError('bad_request', message);
}
