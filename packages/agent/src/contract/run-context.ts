import type { Delta, DraftRecord, FoldState, SessionId } from '@millrace/core';
import type { LoopState } from './loop-state.ts';
import type { Observer } from './observer.ts';
import type { ParentCall } from './parent-call.ts';
import type { Settings } from './settings.ts';

/** The objects and values that all parts of one run share. */
export interface RunContext {
  /** The settings of the active agent. They change after a hand-off. */
  readonly settings: Settings;
  readonly journal: Journal;
  /** Gives each tool call of the session a different id. */
  readonly callIds: CallIds;
  readonly session: SessionId;
  /** The context that the caller passed to the run. It is not stored on the log. */
  readonly context: unknown;
  /** The state of the session when the run opened it. */
  readonly initialState: FoldState;
  /** Aborts when the run has to stop. */
  readonly signal: AbortSignal;
  readonly phase: RunPhase;
  /**
   * Calls the agent's functions that return tools for a turn, once per turn. Until the next turn,
   * `settings.tools` then includes these tools.
   */
  loadStepTools(turn: number): Promise<void>;
  /**
   * Aborts when the process gives the session up so that another process can continue it. Sub-agents get
   * the same signal.
   */
  readonly leave: AbortSignal;
  /** The call that this run belongs to, if it is the run of a sub-agent. */
  readonly parent?: ParentCall | undefined;
  /** Observers of this run, which its sub-agents also get. */
  readonly observers?: readonly Observer[] | undefined;
}

/**
 * Writes to the log of the session and holds the folded state. A run has no other access to them. Records
 * of other writers arrive with the response to the next write.
 */
export interface Journal {
  /** The folded session: items, parts, usage. */
  readonly state: FoldState;
  /** The folded state of the loop: run, turn, calls, queued commands. */
  readonly loop: LoopState;
  /** The error that made the journal refuse all further writes. Undefined while the journal works. */
  readonly failure: Error | undefined;
  /** Resolves after the records are committed, folded and published. Rejects if they cannot be stored. */
  write(drafts: readonly DraftRecord[]): Promise<void>;
  /**
   * Writes without waiting. Returns undefined, or a promise to await if too many writes are in flight or
   * the journal has failed. Any other failure makes the next `write` or `settled` reject.
   */
  stream(drafts: readonly DraftRecord[]): Promise<void> | undefined;
  /** Resolves after all earlier writes are committed, folded and published. */
  settled(): Promise<void>;
  /** Makes every later write fail with this error, for example because the lease is lost. */
  fail(error: unknown): void;
}

/** Gives each tool call of a session a different id. */
export interface CallIds {
  /** Returns the delta, with a new tool call id if the model has already used its id. */
  withUniqueId(delta: Delta): Delta;
}

/** Flags for changes that have started but are not on the log yet. */
interface RunPhase {
  /** True while an abort is being written. No call or request may start then. */
  isAborting: boolean;
  /** True while the turn is being finished. Commands that arrive later do not belong to the turn. */
  isTurnEnding: boolean;
  /** True once the end of the run is decided. Later aborts have no effect. */
  isRunEnding: boolean;
  /** True once it is decided that the run ends because its calls wait. The turn stays open. */
  isParking?: boolean;
  /** The value that a guardrail threw. It is not stored on the log. */
  cause?: unknown;
}

/** The fields of a run context that functions among the tools depend on. */
export interface StepSource extends Pick<RunContext, 'context' | 'session'> {
  readonly journal: Pick<RunContext['journal'], 'state' | 'loop'>;
}
