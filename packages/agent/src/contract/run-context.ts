import type { Delta, DraftRecord, FoldState, SessionId } from '@millrace/core';
import type { LoopState } from './loop-state.ts';
import type { Observer } from './observer.ts';
import type { Settings } from './settings.ts';

/** What everybody in a run shares. */
export interface RunContext {
  /** Of the agent that has the session now: another one after a hand-off. */
  readonly settings: Settings;
  readonly journal: Journal;
  /** Keeps calls apart. */
  readonly callIds: CallIds;
  readonly session: SessionId;
  /** The session as the run found it. */
  readonly initialState: FoldState;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
  readonly phase: RunPhase;
  /** Of this run alone, and of what its sub-agents do for it. */
  readonly observers?: readonly Observer[] | undefined;
}

/**
 * The only way by which a run writes to its session's log and reads its state. Records of other writers
 * arrive the same way, with the response to the next write.
 */
export interface Journal {
  /** The folded session: items, parts, usage. */
  readonly state: FoldState;
  /** The folded state of the loop: run, turn, calls, queued commands. */
  readonly loop: LoopState;
  /** The error that made the journal read-only, if there is one. */
  readonly failure: Error | undefined;
  /** Resolves after the records are committed, folded and published. Rejects if they cannot be stored. */
  write(drafts: readonly DraftRecord[]): Promise<void>;
  /**
   * Writes without waiting. Returns undefined, or a promise to await if too many writes are in flight or
   * the journal has failed. Any other failure shows at the next `write` or `settled`.
   */
  stream(drafts: readonly DraftRecord[]): Promise<void> | undefined;
  /** Resolves after everything written so far is committed, folded and published. */
  settled(): Promise<void>;
  /** Makes every later write fail with this error: for example because the lease is lost. */
  fail(error: unknown): void;
}

/** Gives each tool call of a session an id of its own. */
export interface CallIds {
  /** The delta, with a new tool call id if the model used an id twice. */
  withUniqueId(delta: Delta): Delta;
}

/** Where a run stands, before it is on the log. */
interface RunPhase {
  /** An abort is on its way to the log: nothing is begun after it. */
  isAborting: boolean;
  /** Nothing that comes now is part of the turn. */
  isTurnEnding: boolean;
  /** How the run ends is said already. */
  isRunEnding: boolean;
}
