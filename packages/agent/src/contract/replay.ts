import type { DraftRecord, FoldState, LogRecord, SessionId } from '@millrace/core';
import type { Observer } from './observer.ts';

/** The first difference between a recorded session and its replay. */
export interface Divergence {
  /** The offset of the expected record. */
  readonly offset: number;
  /** The recorded record that the loop should have written at this offset. */
  readonly expected: LogRecord;
  /**
   * The records that the loop tried to write instead. Empty if the loop waits for an event that never
   * happens.
   */
  readonly found: readonly DraftRecord[];
  /** A sentence that describes the difference. */
  readonly message: string;
}

/** Options of `Agent.replay`. */
export interface ReplayOptions {
  /** Observers of the replay. The agent's own observers are not called. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
}

/** The result of a replay. */
export interface ReplayResult {
  readonly session: SessionId;
  /** The replayed records: all records of the session, or only those before the divergence. */
  readonly records: readonly LogRecord[];
  /** The state that the replayed records produce. */
  readonly state: FoldState;
  /** The first difference. Undefined if the replay is identical to the recording. */
  readonly divergence?: Divergence | undefined;
}
