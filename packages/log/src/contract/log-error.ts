import { type ErrorPlace, MillraceError } from '@millrace/core';

export type LogErrorCode =
  /** Somebody else drives the session. */
  | 'held'
  /** The lease or the admission is not valid any more: nothing was stored. */
  | 'fenced'
  | 'no_session'
  | 'session_closed'
  | 'session_exists'
  /** The offset never existed, or is not there any more. */
  | 'bad_offset'
  /** A sequence that is neither the next nor the last. */
  | 'bad_sequence'
  | 'bad_records'
  | 'bad_option'
  /** A follower fell too far behind; `place.cursor` is where it may go on. */
  | 'lagged'
  | 'closed'
  /** The disk, the file or its contents do not allow it. */
  | 'storage'
  | 'corrupt'
  /** Written by a later version. */
  | 'too_new';

export class LogError extends MillraceError<LogErrorCode> {
  constructor(code: LogErrorCode, message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super(code, message, place, options);
  }
}

export function unknownSession(session: string): LogError {
  return new LogError('no_session', `Cannot find session ${session}`, { session });
}

export function deletedError(session: string): LogError {
  const message = `Cannot append to session ${session}: it was deleted`;
  return new LogError('no_session', message, { session });
}

export function closedError({ session }: { readonly session: string }): LogError {
  return new LogError(
    'session_closed',
    `Cannot append to session ${session}: it is closed. Fork it to go on`,
    { session },
  );
}
