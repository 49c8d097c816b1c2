import type { FoldState, RunId, Stop } from '@millrace/core';

/** A run that is over, how it ended, and the session as it found it and as it left it. */
export interface EndedRun {
  readonly id: RunId;
  readonly stop: Stop;
  readonly before: FoldState;
  readonly after: FoldState;
}
