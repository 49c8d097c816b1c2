import { ServerError } from '../../contract/server-error.ts';

/**
 * The position of a viewer: everything up to `offset`. With `k`, only the events up to the k-th of
 * the record at `offset`.
 */
export interface Cursor {
  readonly offset: number;
  readonly k?: number | undefined;
  /** The incarnation of the session. Absent if the client does not know it. */
  readonly incarnation?: string | undefined;
}

/** A cursor as text: `offset` or `offset.k`, and the incarnation after a hyphen. */
const cursorPattern = /^(\d{1,15})(?:\.(\d{1,9}))?(?:-([0-9a-z]{1,32}))?$/;

/** True if the text is a cursor. */
export function isCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/**
 * Parses `?from=` or `Last-Event-ID`. Empty text counts as absent, because browsers send it without
 * an id.
 */
export function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const [, offset, k, incarnation] = cursorPattern.exec(text) ?? [];
  if (offset === undefined) throw badCursor(text.length);
  const position = k === undefined ? {} : { k: Number(k) };
  const history = incarnation === undefined ? {} : { incarnation };
  return { offset: Number(offset), ...position, ...history };
}

/** The id of the frame at the cursor, without the incarnation. */
export function cursorId({ offset, k }: Cursor): string {
  return k === undefined ? `${offset}` : `${offset}.${k}`;
}

/** What follows the position in the ids of a session's frames. */
export function idEndOf(incarnation: string): string {
  return `-${incarnation}`;
}

/** The log was rewound since the client received its cursor. */
export function rewoundCursor(session: string): ServerError {
  const message = `Cannot resume task ${session} at this cursor: its log was rewound (a backup was restored, or the last records were lost). Read again: connect without from and Last-Event-ID`;
  return new ServerError('rewound', message, { session });
}

/** Throws if the offset is beyond the end of the log, instead of skipping records silently. */
export function assertInLog(session: string, { offset }: Cursor, through: number): void {
  if (offset <= through) return;
  const message = `Cannot resume task ${session} after offset ${offset}: its log ends at ${through}. Connect without from and Last-Event-ID to get the current state`;
  throw new ServerError('gone', message, { session, offset, through });
}

function badCursor(length: number): ServerError {
  const message = `Cannot resume: from or Last-Event-ID is not an offset (it has ${length} characters). Send the id of the last received event, or none`;
  return new ServerError('bad_request', message);
}
