import type { ItemId, SessionId, TraceContext } from '@millrace/core';
import type { Observer } from './observer.ts';
import type { ParentCall } from './parent-call.ts';
import type { ReplayOptions, ReplayResult } from './replay.ts';
import type { Run, RunInput } from './run.ts';

/** Options of `Agent.run` and `Agent.resume`. */
export interface AgentRunOptions {
  /** The session to run in. Default: a new session. */
  readonly session?: SessionId | undefined;
  /** Aborts the run. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Stops the run without ending it, for a process that has to exit. The lease is released and
   * nothing more is written, except results of calls that finish within 2 s. Another process can
   * resume the session. The result's stop has the cause `left`.
   */
  readonly leave?: AbortSignal | undefined;
  /**
   * The trace that the run belongs to, as read by `traceContext(headers…)`. It is stored on the log
   * and passed to observers, to tools as `ctx.trace`, and to providers. A resumed run keeps its own
   * trace.
   */
  readonly trace?: TraceContext | undefined;
  /** Observers for this run and for its sub-agents, in addition to the observers of each agent. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * The call that runs this agent as a sub-agent: `ctx.asParent` of a tool with `startsSession`.
   * Pass `ctx.child` as `session`. Questions then reach the caller, usage counts toward its limits,
   * and `whileAsking` is that of the caller. A run that was interrupted continues, and its input is
   * not added again. Default: none.
   */
  readonly parent?: ParentCall | undefined;
}

/** Options of `Agent.regenerate` and `Agent.edit`. */
export interface ForkedRunOptions {
  /** The id of the fork. Default: a new session id. */
  readonly into?: SessionId | undefined;
  /** As in `AgentRunOptions`. */
  readonly signal?: AbortSignal | undefined;
  /** As in `AgentRunOptions`. */
  readonly leave?: AbortSignal | undefined;
  /** As in `AgentRunOptions`. */
  readonly trace?: TraceContext | undefined;
  /** As in `AgentRunOptions`. */
  readonly observers?: readonly Observer[] | undefined;
}

/** An agent: settings that can run sessions. Create it with `createAgent`. */
export interface Agent<Value = unknown> {
  /** The name from the options. */
  readonly name: string;
  /** Starts a run. One agent can serve many runs at once, but only one per session. */
  run(input: RunInput, options?: AgentRunOptions): Run<Value>;
  /** Resumes a session: interrupted work, queued messages and answered approvals. */
  resume(session: SessionId, options?: Omit<AgentRunOptions, 'session' | 'parent'>): Run<Value>;
  /**
   * Answers again, in a fork. By default, everything after the last user input is replaced; with
   * `item`, everything from that item on.
   */
  regenerate(
    session: SessionId,
    options?: ForkedRunOptions & { readonly item?: ItemId },
  ): Run<Value>;
  /** Replaces an item with new input and answers it, in a fork. */
  edit(session: SessionId, item: ItemId, input: RunInput, options?: ForkedRunOptions): Run<Value>;
  /**
   * Runs a recorded session through the loop again. Model output, tool results, decisions, times
   * and ids come from the recording. Nothing is executed or sent. Reports the first record at which
   * this agent would act differently.
   */
  replay(session: SessionId, options?: ReplayOptions): Promise<ReplayResult>;
}
