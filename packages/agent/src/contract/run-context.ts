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
  /** Ensures that each tool call of the session has a unique id. */
  readonly callIds: CallIds;
  readonly session: SessionId;
  /** The context that the caller passed to the run. The log does not store it. */
  readonly context: unknown;
  /** The state of the session when the run opened it. */
  readonly initialState: FoldState;
  /** Aborts when the run has to stop. */
  readonly signal: AbortSignal;
  readonly phase: RunPhase;
  /**
   * Calls the agent's functions that return tools, once per turn. Until the next turn, `settings.tools` then
   * includes these tools.
   */
  loadStepTools(turn: number): Promise<void>;
  /**
   * Aborts when this process gives the session up so that a different process can continue it. Sub-agents get
   * the same signal.
   */
  readonly leave: AbortSignal;
  /** The tool call that runs this run's agent. Undefined if the agent is not a sub-agent. */
  readonly parent?: ParentCall | undefined;
  /** Observers of this run. Its sub-agents get them too. */
  readonly observers?: readonly Observer[] | undefined;
}

/**
 * Writes to the log of the session and holds the folded state. A run accesses the log only through its
 * journal. Records of other writers arrive with the response to the next write.
 */
export interface Journal {
  /** The state of the session: items, parts and usage. */
  readonly state: FoldState;
  /** The state of the loop: run, turn, calls and queued commands. */
  readonly loop: LoopState;
  /** The error that stopped the journal. It rejects all further writes. Undefined while the journal works. */
  readonly failure: Error | undefined;
  /**
   * Resolves after the records are committed, applied to the state, and passed to observers. Rejects if they
   * cannot be stored.
   */
  write(drafts: readonly DraftRecord[]): Promise<void>;
  /**
   * Writes without waiting. Usually returns undefined. Returns a promise to await if too many writes are in
   * progress or the journal has failed. Any other failure makes the next `write` or `settled` reject.
   */
  stream(drafts: readonly DraftRecord[]): Promise<void> | undefined;
  /** Resolves after all earlier writes are committed, applied to the state, and passed to observers. */
  settled(): Promise<void>;
  /** Makes every later write fail with this error, for example because the lease is lost. */
  fail(error: unknown): void;
}

/** Ensures that each tool call of a session has a unique id. */
export interface CallIds {
  /**
   * Returns the delta. If its tool call id already exists in the session, the returned delta has a new id.
   */
  withUniqueId(delta: Delta): Delta;
}

/** Flags for changes that have started but whose records are not on the log yet. */
interface RunPhase {
  /** True while the record of an abort is being written. No call or request may start then. */
  isAborting: boolean;
  /** True while the turn is being finished. Commands that arrive later do not belong to the turn. */
  isTurnEnding: boolean;
  /** True after the loop has decided to end the run. Later aborts have no effect. */
  isRunEnding: boolean;
  /** True after the loop has decided to end the run because its calls wait. The turn stays open. */
  isParking?: boolean;
  /** The value that a guardrail threw. The log does not store it. */
  cause?: unknown;
}

/** The fields of a run context that the functions which return tools can use. */
export interface StepSource extends Pick<RunContext, 'context' | 'session'> {
  readonly journal: Pick<RunContext['journal'], 'state' | 'loop'>;
}
