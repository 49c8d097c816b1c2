import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The reason for a `LogError`. */
export type LogErrorCode =
  /** Another driver holds the session's lease. */
  | 'held'
  /** The lease or the admission is no longer valid. Nothing was stored. */
  | 'fenced'
  /** The session does not exist. */
  | 'no_session'
  /** The session is permanently closed. */
  | 'session_closed'
  /** A session with this id already exists. */
  | 'session_exists'
  /** The offset never existed or its record was removed. */
  | 'bad_offset'
  /** The sequence number is not the next number, and it was not used before. */
  | 'bad_sequence'
  /** A record or draft is invalid. */
  | 'bad_records'
  /** An option is invalid. */
  | 'bad_option'
  /** A query of `openLogIndex` is invalid. */
  | 'bad_query'
  /**
   * The cursor belongs to an earlier incarnation of the session. A backup was restored, or the log lost its
   * last records. Read the session again from offset 0.
   */
  | 'rewound'
  /** A session needs more memory than allowed. `place.bytes` is the size, and `place.limit` is the limit. */
  | 'too_large'
  /** A follower fell too far behind. `place.cursor` is the offset to continue from. */
  | 'lagged'
  /** The log is closed. */
  | 'closed'
  /** The disk, the file or the server failed. */
  | 'storage'
  /** The disk is full, or the maximum size is reached. The log stored no part of this write. */
  | 'storage_full'
  /** Stored data is damaged. */
  | 'corrupt'
  /** A later version of Millrace wrote the data. */
  | 'too_new';

/** The error of all log operations. `place` contains the ids that locate it. */
export class LogError extends MillraceError<LogErrorCode> {
  constructor(code: LogErrorCode, message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super(code, message, place, options);
  }
}

/** Returns the error for a session that does not exist. */
export function unknownSession(session: string): LogError {
  return new LogError('no_session', `Cannot find session ${session}: it does not exist`, {
    session,
  });
}

/** Returns the error for a cursor that belongs to an earlier incarnation of the session. */
export function rewoundError(session: string, known: string, now: string): LogError {
  const message = `Cannot continue to read session ${session}: it was rewound or replaced (a backup was restored, or the last records were lost). Read it again from offset 0`;
  return new LogError('rewound', message, { session, incarnation: known, now });
}

/** Returns the error for an append to a session that was deleted while a driver held it. */
export function deletedError(session: string): LogError {
  const message = `Cannot append to session ${session}: it was deleted`;
  return new LogError('no_session', message, { session });
}

/** Returns the error for an append to a session that is permanently closed. */
export function closedError({ session }: { readonly session: string }): LogError {
  return new LogError(
    'session_closed',
    `Cannot append to session ${session}: it is closed. Fork it to continue`,
    { session },
  );
}
