import type { Delta, DraftRecord, FoldState, SessionId } from '@millrace/core';
import type { LoopState } from './loop-state.ts';
import type { Observer } from './observer.ts';
import type { ParentCall } from './parent-call.ts';
import type { Settings } from './settings.ts';

/** Shared by all parts of one run. */
export interface RunContext {
  /** The settings of the active agent. They change after a hand-off. */
  readonly settings: Settings;
  readonly journal: Journal;
  /** Makes tool call ids unique. */
  readonly callIds: CallIds;
  readonly session: SessionId;
  /** The context that the caller passed to the run. It is not on the log. */
  readonly context: unknown;
  /** The session state when the run opened it. */
  readonly initialState: FoldState;
  /** Aborts when the run has to stop. */
  readonly signal: AbortSignal;
  readonly phase: RunPhase;
  /**
   * Calls the functions among the agent's tools for a turn, unless that was done. Until the next turn,
   * `settings.tools` then has their tools.
   */
  loadStepTools(turn: number): Promise<void>;
  /** Aborts when the process gives up the session without ending the run. Sub-agents do the same. */
  readonly leave: AbortSignal;
  /** The call that this run belongs to, if it is the run of a sub-agent. */
  readonly parent?: ParentCall | undefined;
  /** Observers of this run, which its sub-agents also get. */
  readonly observers?: readonly Observer[] | undefined;
}

/**
 * The only way in which a run writes to its session's log and reads its state. Records of other
 * writers arrive the same way, with the response to the next write.
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

/** Transitions that have started but are not on the log yet. */
interface RunPhase {
  /** An abort is being written. Nothing may start after it. */
  isAborting: boolean;
  /** The turn is being finished. Later commands do not belong to it. */
  isTurnEnding: boolean;
  /** The end of the run is decided. Later aborts have no effect. */
  isRunEnding: boolean;
  /** The value that a guardrail threw. It is not on the log. */
  cause?: unknown;
}

/** The parts of a run context that the functions among the tools depend on. */
export interface StepSource extends Pick<RunContext, 'context' | 'session'> {
  readonly journal: Pick<RunContext['journal'], 'state' | 'loop'>;
}
