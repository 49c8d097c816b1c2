import type { DraftRecord, FoldState, LogRecord, SessionId } from '@millrace/core';
import type { Observer } from './observer.ts';

/** Where a replay would have written something else than was recorded. */
export interface Divergence {
  /** Of the record that should have come. */
  readonly offset: number;
  readonly expected: LogRecord;
  /** What the loop wanted to write instead; nothing where it waits for something that does not come. */
  readonly found: readonly DraftRecord[];
  /** What differs, in a sentence. */
  readonly message: string;
}

export interface ReplayOptions {
  /** Told of every record again. The agent's own are not. */
  readonly observers?: readonly Observer[] | undefined;
}

/** What came of running a recorded session again. */
export interface Replayed {
  readonly session: SessionId;
  /** What was written again: all of it, or what comes before the place where the replay diverges. */
  readonly records: readonly LogRecord[];
  readonly state: FoldState;
  /** Where this agent would do something else; absent where it does the same to the last record. */
  readonly divergence?: Divergence | undefined;
}
