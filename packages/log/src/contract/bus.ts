import type { LogRecord, SessionId } from '@millrace/core';

/** What was committed to a session: where it is now and, unless they are too large, the records that are new. */
export interface BusNotice {
  readonly session: SessionId;
  /** Which one of those that ever had this name, and how often its records were rewritten. */
  readonly made: number;
  readonly rewrites: number;
  readonly through: number;
  readonly changedAt: number;
  readonly isClosed: boolean;
  readonly openWork: readonly string[];
  readonly queuedCommands: number;
  /** The last ones up to `through`, without a hole. None where readers should look at the store. */
  readonly records: readonly LogRecord[];
}

/** Who hears of a session. Neither may throw. */
export interface BusListener {
  notice(notice: BusNotice): void;
  /** Something may have been missed: look at the store. */
  missed(): void;
}

/**
 * Carries copies of what was committed to other processes. It may lose, repeat or reorder anything: who
 * cannot be sure reads the store, and the store alone says what there is.
 */
export interface Bus {
  /** After the commit. It never throws and nobody waits for it. */
  publish(notice: BusNotice): void;
  /** Until the way out that it gives is taken. `missed` is told once it listens, and after each loss. */
  subscribe(session: SessionId, listener: BusListener): () => void;
  /** Its session was deleted: nothing of it stays there. */
  forget(session: SessionId): void;
  close(): Promise<void>;
}
