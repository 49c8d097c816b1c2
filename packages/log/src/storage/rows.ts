import type { SessionId } from '@millrace/core';

/** The data of a store about a session, in addition to the session's records. */
export interface SessionRow {
  /** The id of the session. */
  readonly session: SessionId;
  /**
   * The session's generation number. If a session is deleted and created again, the new session has a new
   * number. The store therefore never confuses a deleted session with a new session.
   */
  readonly made: number;
  /**
   * The incarnation of the store when the row was read. All rows of a store have the same incarnation. The
   * store sets this field when it reads a row. Writing a row does not change the incarnation.
   */
  readonly incarnation: number;
  /** The number of times that existing records were changed. */
  readonly rewrites: number;
  /** The offset of the last record. */
  readonly through: number;
  /** The time of creation, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The time of the last record, in milliseconds since 1970. */
  readonly changedAt: number;
  /** True if the session accepts no more records. */
  readonly isClosed: boolean;
  /** The epoch of the most recent driver. */
  readonly epoch: number;
  /** The lease of the session's driver. Undefined if the session has no driver. */
  readonly lease: LeaseRow | undefined;
  /** The runs and turns that have started and have not finished. */
  readonly openWork: readonly string[];
  /** The number of commands that no driver has consumed. */
  readonly queuedCommands: number;
  /** The session from which this session was forked. Undefined if it is not a fork. */
  readonly origin: Origin | undefined;
  /** The end of the session's hash chain. Undefined if the session has no chain. */
  readonly chain?: ChainHead | undefined;
  /** True if the stored row is corrupt. Only `list` returns such rows. Every other operation throws. */
  readonly isDamaged?: true;
}

/** The end of a hash chain. */
export interface ChainHead {
  /** The number of links. */
  readonly count: number;
  /** The first offset that a link covers. Earlier records were stored before the session got a chain. */
  readonly start: number;
  /** The hash of the last link. */
  readonly hash: string;
  /**
   * True if a link can cover records that are far before it, because content was redacted or removed by an
   * import.
   */
  readonly isWide?: true | undefined;
}

/** The origin of a fork. */
export interface Origin {
  /** The session that was forked. */
  readonly session: SessionId;
  /** The last offset that was copied. */
  readonly through: number;
}

/** The lease of a driver. */
export interface LeaseRow {
  /** The name of the holder, for display. */
  readonly holder: string;
  /**
   * The time at which the lease expires, in milliseconds since 1970. `Infinity` if the lease never expires.
   * If `ticks` is present, it is used instead of this field.
   */
  readonly expiresAt: number;
  /**
   * The expiry of the lease on a monotonic clock. Undefined if the lease does not expire, or if it was
   * written without such a clock.
   */
  readonly ticks?: LeaseTicks | undefined;
  /** The process that holds the lease. Undefined if it is not known. */
  readonly process: ProcessIdentity | undefined;
  /**
   * The incarnation in which the lease was taken. The holder has read records of this incarnation.
   * Undefined in leases that were stored before incarnations existed.
   */
  readonly incarnation?: number | undefined;
}

/** The expiry of a lease, measured by a monotonic clock. */
export interface LeaseTicks {
  /** The id of the clock. The times of two different clocks cannot be compared. */
  readonly clock: string;
  readonly expiresAt: number;
  readonly leaseMs: number;
}

/** Identifies a process, so that other processes on the same machine can detect its end. */
export interface ProcessIdentity {
  /** The name of the machine. */
  readonly host: string;
  /** The boot id of the machine. Empty if unknown. */
  readonly boot: string;
  /** The PID namespace of the process. Empty if unknown. */
  readonly space: string;
  /** The process id. */
  readonly pid: number;
  /**
   * The start time of the process in the system's format. Process ids are reused, so the id alone is not
   * enough.
   */
  readonly started: string;
}

/** A submitted command. Stores find it by its key. */
export interface CommandRow {
  /** The offset of the command's record. */
  readonly offset: number;
  /** True if a driver has handled the command. */
  readonly isConsumed: boolean;
}

/** The data of a store about a producer that a driver admitted. */
export interface ProducerRow {
  /** The id of the session. */
  readonly session: SessionId;
  /** The name of the producer. It is unique in the session. */
  readonly producer: string;
  /** The epoch of the driver that admitted the producer. */
  readonly driverEpoch: number;
  /** The number of times that the producer was opened. 0 if it was never opened. */
  readonly epoch: number;
  /** The turn that the producer writes. */
  readonly turn: number;
  /** The attempt that the producer writes. */
  readonly attempt: number;
  /** True for a model request, false for a tool call. */
  readonly isRequest: boolean;
  /** The sequence number of the last append in this epoch. */
  readonly sequence: number;
  /** The offset of the last record of that append. */
  readonly through: number;
}
