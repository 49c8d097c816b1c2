import type { FoldState, SessionId } from '@millrace/core';
import type { Journal } from '../journal/journal.ts';
import type { Observer } from '../observers/observer.ts';
import type { Settings } from './settings.ts';
import type { UniqueCalls } from './unique-calls.ts';

/** What everybody in a run shares. */
export interface RunContext {
  /** Of the agent that has the session now: another one after a hand-off. */
  readonly settings: Settings;
  readonly journal: Journal;
  /** Keeps calls apart. */
  readonly calls: UniqueCalls;
  readonly session: SessionId;
  /** The session as the run found it. */
  readonly before: FoldState;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
  readonly standing: Standing;
  /** Of this run alone, and of what its sub-agents do for it. */
  readonly observers?: readonly Observer[] | undefined;
}

/** Where a run stands, before it is on the log. */
interface Standing {
  /** An abort is on its way to the log: nothing is begun after it. */
  isAborting: boolean;
  /** Nothing that comes now is part of the turn. */
  isTurnEnding: boolean;
  /** How the run ends is said already. */
  isRunEnding: boolean;
}
