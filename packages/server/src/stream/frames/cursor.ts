import { ServerError } from '../../contract/server-error.ts';

/**
 * The position of a viewer. The viewer has received all records up to `offset`. With `k`, it has received
 * only the frames up to number `k` of the record at `offset`.
 */
export interface Cursor {
  readonly offset: number;
  readonly k?: number | undefined;
  /** The incarnation of the session. Undefined if the client did not send it. */
  readonly incarnation?: string | undefined;
}

/** The text form of a cursor: `offset` or `offset.k`, then a hyphen and the incarnation. */
const cursorPattern = /^(\d{1,15})(?:\.(\d{1,9}))?(?:-([0-9a-z]{1,32}))?$/;

/** Returns whether the text is a cursor. */
export function isCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/**
 * Parses `?from=` or `Last-Event-ID`. An empty text counts as missing, because browsers without an id send an
 * empty header.
 */
export function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const [, offset, k, incarnation] = cursorPattern.exec(text) ?? [];
  if (offset === undefined) throw badCursor(text.length);
  const position = k === undefined ? {} : { k: Number(k) };
  const history = incarnation === undefined ? {} : { incarnation };
  return { offset: Number(offset), ...position, ...history };
}

/** Returns the id of the frame at the cursor, without the incarnation. */
export function cursorId({ offset, k }: Cursor): string {
  return k === undefined ? `${offset}` : `${offset}.${k}`;
}

/** Returns the suffix of all frame ids of a session. It follows the position and contains the incarnation. */
export function idEndOf(incarnation: string): string {
  return `-${incarnation}`;
}

/** Returns the error for a cursor that is older than the last rewind of the log. */
export function rewoundCursor(session: string): ServerError {
  const message = `Cannot resume task ${session} at this cursor: its log was rewound (a backup was restored, or the last records were lost). Read again: connect without from and Last-Event-ID`;
  return new ServerError('rewound', message, { session });
}

/**
 * Throws if the offset is after the end of the log. Without this check, the client would silently miss
 * records.
 */
export function assertInLog(session: string, { offset }: Cursor, through: number): void {
  if (offset <= through) return;
  const message = `Cannot resume task ${session} after offset ${offset}: its log ends at ${through}. Connect without from and Last-Event-ID to get the current state`;
  throw new ServerError('gone', message, { session, offset, through });
}

function badCursor(length: number): ServerError {
  const message = `Cannot resume: from or Last-Event-ID is not an offset (it has ${length} characters). Send the id of the last received event, or none`;
  return new ServerError('bad_request', message);
}
