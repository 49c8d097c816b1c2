import type { SessionId } from '@millrace/core';

/** What a store keeps about a session, besides its records. */
export interface SessionRow {
  /** The id of the session. */
  readonly session: SessionId;
  /**
   * The session's generation number. It differs for each session that ever had this id, so a
   * deleted session is never confused with its successor.
   */
  readonly made: number;
  /**
   * The incarnation of the store when the row was read. All rows of a store have the same one. The
   * store sets it; writing a row does not change it.
   */
  readonly incarnation: number;
  /** How many times existing records were changed. */
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
  /** The right to drive the session. Undefined if no driver has it. */
  readonly lease: LeaseRow | undefined;
  /** Runs and turns that were started and not finished. */
  readonly openWork: readonly string[];
  /** Commands that no driver has consumed. */
  readonly queuedCommands: number;
  /** The session that this one was forked from. */
  readonly origin: Origin | undefined;
  /** The stored row is corrupt. Only `list` returns such rows; every other operation throws. */
  readonly isDamaged?: true;
}

/** Where a fork comes from. */
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
   * In milliseconds since 1970. `Infinity` if the lease never expires. It decides only if there are no
   * `ticks`.
   */
  readonly expiresAt: number;
  /** The same moment by a clock that nobody can set. Absent if the lease does not expire. */
  readonly ticks?: LeaseTicks | undefined;
  /** The process that holds the lease, if known. */
  readonly process: ProcessIdentity | undefined;
  /**
   * The incarnation in which the lease was taken. The holder's state belongs to it. Absent in leases
   * that were stored before incarnations existed.
   */
  readonly incarnation?: number | undefined;
}

/** When a lease expires, by a clock that nobody can set. */
export interface LeaseTicks {
  /** The id of the clock. Times of different clocks cannot be compared. */
  readonly clock: string;
  readonly expiresAt: number;
  readonly leaseMs: number;
}

/** Identifies a process, so that its end can be detected on the same machine. */
export interface ProcessIdentity {
  /** The name of the machine. */
  readonly host: string;
  /** The boot id of the machine. Empty if unknown. */
  readonly boot: string;
  /** The PID namespace of the process. Empty if unknown. */
  readonly space: string;
  /** The number of the process. */
  readonly pid: number;
  /**
   * The start time of the process in the system's format. Process numbers are reused, so the number
   * is not enough.
   */
  readonly started: string;
}

/** A submitted command, found by its key. */
export interface CommandRow {
  /** The offset of the command's record. */
  readonly offset: number;
  /** True if a driver has handled the command. */
  readonly isConsumed: boolean;
}

/** What a store keeps about a producer that a driver admitted. */
export interface ProducerRow {
  /** The id of the session. */
  readonly session: SessionId;
  /** The name of the producer. It is unique in the session. */
  readonly producer: string;
  /** The epoch of the driver that admitted the producer. */
  readonly driverEpoch: number;
  /** 0 until the producer is opened. */
  readonly epoch: number;
  /** The turn that the producer writes. */
  readonly turn: number;
  /** The attempt that the producer writes. */
  readonly attempt: number;
  /** True for a model request, false for a tool call. */
  readonly isRequest: boolean;
  /** The sequence of the last append in this epoch. */
  readonly sequence: number;
  /** The offset where that append ended. */
  readonly through: number;
}
