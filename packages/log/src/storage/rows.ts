import type { SessionId } from '@millrace/core';

/** What a store keeps about a session, besides its records. */
export interface SessionRow {
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
  readonly createdAt: number;
  readonly changedAt: number;
  readonly isClosed: boolean;
  /** The epoch of the most recent driver. */
  readonly epoch: number;
  readonly lease: LeaseRow | undefined;
  /** Runs and turns that were started and not finished. */
  readonly openWork: readonly string[];
  readonly queuedCommands: number;
  readonly origin: Origin | undefined;
  /** The stored row is corrupt. Only `list` returns such rows; every other operation throws. */
  readonly isDamaged?: true;
}

export interface Origin {
  readonly session: SessionId;
  readonly through: number;
}

export interface LeaseRow {
  readonly holder: string;
  readonly expiresAt: number;
  /** The process that holds the lease, if known. */
  readonly process: ProcessIdentity | undefined;
  /**
   * The incarnation in which the lease was taken. The holder's state belongs to it. Absent in leases
   * that were stored before incarnations existed.
   */
  readonly incarnation?: number | undefined;
}

/** Identifies a process, so that its end can be detected on the same machine. */
export interface ProcessIdentity {
  readonly host: string;
  /** The boot id of the machine, and the PID namespace of the process. Empty if unknown. */
  readonly boot: string;
  readonly space: string;
  readonly pid: number;
  /**
   * The start time of the process in the system's format. Process numbers are reused, so the number
   * is not enough.
   */
  readonly started: string;
}

/** A submitted command, found by its key. */
export interface CommandRow {
  readonly offset: number;
  readonly isConsumed: boolean;
}

export interface ProducerRow {
  readonly session: SessionId;
  readonly producer: string;
  readonly driverEpoch: number;
  /** 0 until the producer is opened. */
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
  readonly isRequest: boolean;
  /** The sequence of the last append in this epoch, and the offset where that append ended. */
  readonly sequence: number;
  readonly through: number;
}
