import type { RunId, Stop } from '@millrace/core';

/** A run that is over, and how it ended. */
export interface EndedRun {
  readonly id: RunId;
  readonly stop: Stop;
}
