import type { FoldState, SessionId } from '@millrace/core';
import type { Journal } from '../journal/journal.ts';
import type { Settings } from './settings.ts';

/** What everybody in a run shares. */
export interface RunContext {
  readonly settings: Settings;
  readonly journal: Journal;
  readonly session: SessionId;
  /** The session as the run found it. */
  readonly before: FoldState;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
}
