import type { DraftRecord, FoldState, LogRecord, SessionId } from '@millrace/core';
import type { Observer } from './observer.ts';

/** The first difference between a recording and its replay. */
export interface Divergence {
  /** The offset of the expected record. */
  readonly offset: number;
  /** The record of the recording that the loop should have written. */
  readonly expected: LogRecord;
  /**
   * The records that the loop tried to write instead. Empty if the loop waits for something that never
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
  /** The replayed records. They are all records of the session, or the records before the divergence. */
  readonly records: readonly LogRecord[];
  /** The folded state of the replayed records. */
  readonly state: FoldState;
  /** The first difference. Undefined if the replay equals the recording. */
  readonly divergence?: Divergence | undefined;
}
