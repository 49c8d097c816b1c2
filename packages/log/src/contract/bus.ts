import type { LogRecord, SessionId } from '@millrace/core';

/**
 * A message about a commit. It contains the new data about the session. It also contains the new records,
 * unless they are too large.
 */
export interface BusNotice {
  readonly session: SessionId;
  /**
   * The session's generation number. If a session is deleted and created again, the new session has a
   * different number.
   */
  readonly made: number;
  /**
   * The incarnation of the session. A notice of a different incarnation does not apply to the current
   * records.
   */
  readonly incarnation: string;
  /** The number of times that existing records of the session were changed. */
  readonly rewrites: number;
  /** The offset of the session's last record. */
  readonly through: number;
  /** Time of the last change, in milliseconds since 1970. */
  readonly changedAt: number;
  readonly isClosed: boolean;
  /** The runs and turns that have started and have not finished. */
  readonly openWork: readonly string[];
  /** Number of commands that no driver has consumed yet. */
  readonly queuedCommands: number;
  /** The last records up to `through`, without gaps. Empty if followers must read the store. */
  readonly records: readonly LogRecord[];
}

/** Receives the notices of one session. Its methods must not throw. */
export interface BusListener {
  /** Called for each notice of the session. */
  notice(notice: BusNotice): void;
  /** Called when notices may have been lost. The listener must read the store. */
  missed(): void;
}

/**
 * Carries copies of committed records to other processes. It may lose, repeat or reorder notices.
 * A follower that detects a gap reads the store, which is the only source of truth.
 */
export interface Bus {
  /** Sends a notice after a commit. It never throws, and the commit does not wait for it. */
  publish(notice: BusNotice): void;
  /**
   * Adds a listener and returns a function that removes it. The bus calls `missed` when the subscription
   * becomes active, and after each possible loss of notices.
   */
  subscribe(session: SessionId, listener: BusListener): () => void;
  /** Removes everything about a deleted session from the bus. */
  forget(session: SessionId): void;
  /** Closes the bus. The caller must do this, because a log does not close its bus. */
  close(): Promise<void>;
}
