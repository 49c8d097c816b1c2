import type { SessionId } from '@millrace/core';

/** Describes a session without its records. */
export interface SessionInfo {
  readonly session: SessionId;
  /** The offset of the last record. 0 if there are no records. */
  readonly through: number;
  /**
   * Identifies the history of the log that the offsets belong to. It changes when the log is rewound: a
   * backup was restored, or the last records were lost. It also changes when the session is deleted and
   * created again. A reader that stores a cursor must store the incarnation too. It has at most 32 characters
   * of `0-9` and `a-z`.
   */
  readonly incarnation: string;
  /** The time at which the session was created, in milliseconds since 1970. */
  readonly createdAt: number;
  /**
   * Time of the last change to the records, in milliseconds since 1970. Changes of the lease do not count.
   */
  readonly changedAt: number;
  /** True if no more records can be appended. */
  readonly isClosed: boolean;
  /** True if a run or a turn is open, or a command is queued. */
  readonly hasWork: boolean;
  /** The current lease, or `undefined` if the session has no driver. */
  readonly lease: LeaseInfo | undefined;
  /**
   * The epoch of the last driver, even if that driver has released its lease. 0 if the session never had a
   * driver.
   */
  readonly epoch: number;
  /** The session and offset that this session was forked from. `undefined` if it is not a fork. */
  readonly origin: { readonly session: SessionId; readonly through: number } | undefined;
  /** The end of the session's hash chain. `undefined` if the session has no chain. */
  readonly chain?: ChainInfo | undefined;
  /** True if the stored session is corrupt. All fields except `session` are then meaningless. */
  readonly isDamaged?: true;
}

/** The end of a session's hash chain. */
export interface ChainInfo {
  /** The number of links. */
  readonly count: number;
  /** The first offset that a link covers. */
  readonly start: number;
  /** The hash of the last link. */
  readonly hash: string;
}

/** The lease of a session's driver. */
export interface LeaseInfo {
  /** The name that the driver passed to `open`. */
  readonly holder: string;
  readonly epoch: number;
  /**
   * The time at which the lease ends, in milliseconds since 1970. `Infinity` if the lease does not expire.
   */
  readonly expiresAt: number;
}

/** Selects sessions for `Log.list`. */
export interface SessionFilter {
  /**
   * True: only sessions that have open work and no living driver. This includes parked sessions, which wait
   * for an approval. False: all other sessions. Default: both.
   */
  readonly isWaiting?: boolean | undefined;
  /** True: only closed sessions. False: only sessions that are not closed. Default: both. */
  readonly isClosed?: boolean | undefined;
  /** Only sessions after this id, in the order of ids. Default: from the first session. */
  readonly after?: string | undefined;
  /** Maximum number of sessions. Default: no limit. */
  readonly limit?: number | undefined;
}
