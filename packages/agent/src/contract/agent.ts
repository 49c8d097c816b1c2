import type { JsonValue, TraceContext } from '@millrace/core';
import type { Observer } from './observer.ts';
import type { ParentCall } from './parent-call.ts';
import type { ReplayOptions, ReplayResult } from './replay.ts';
import type {
  ApproveOptions,
  ClientToolResult,
  DenyOptions,
  InputOfCall,
  OutputOfCall,
  Run,
  RunInput,
} from './run.ts';
import type { PendingApproval, PendingToolCall, TypedTool } from './typed-tools.ts';

/**
 * The `context` of a run. It is required if the tools, the instructions or the policy of the agent have
 * a typed context.
 */
export type ContextOption<Context> = unknown extends Context
  ? { readonly context?: Context | undefined }
  : { readonly context: Context };

/**
 * The last arguments of a method that starts a run. The options are required if `context` is required.
 */
export type RunArguments<Options, Context> = unknown extends Context
  ? [options?: Options & ContextOption<Context>]
  : [options: Options & ContextOption<Context>];

/** Options of `Agent.run` and `Agent.resume`. */
export interface AgentRunOptions {
  /** The session to run in. Default: a new session. */
  readonly session?: string | undefined;
  /** A signal that aborts the run. Default: only `run.abort` aborts it. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Stops the run without ending it, for a process that has to exit. The run releases its lease. It
   * writes nothing more, except the results of calls that finish within 2 s. Another process can resume
   * the session. The result's stop has the cause `left`. Default: none.
   */
  readonly leave?: AbortSignal | undefined;
  /**
   * The trace that the run belongs to, as `traceContext(headers…)` returns it. It is stored on the log
   * and passed to observers, to tools as `ctx.trace`, and to providers. A resumed run keeps its own
   * trace. Default: none.
   */
  readonly trace?: TraceContext | undefined;
  /**
   * Observers for this run and for its sub-agents, in addition to the observers of each agent.
   * Default: none.
   */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * The call that runs this agent as a sub-agent: `ctx.asParent` of a tool with `startsSession`. Pass
   * `ctx.child` as `session`. Questions then reach the caller, usage counts toward its limits, and the
   * caller's `whileAsking` applies. An interrupted run continues, and its input is not added again.
   * Default: none.
   */
  readonly parent?: ParentCall | undefined;
}

/** Options of `Agent.regenerate` and `Agent.edit`. */
export interface ForkedRunOptions {
  /** The id of the fork. Default: a new session id. */
  readonly into?: string | undefined;
  /** Aborts the run. See `signal` of `AgentRunOptions`. Default: nothing aborts it. */
  readonly signal?: AbortSignal | undefined;
  /** Stops the run without ending it. See `leave` of `AgentRunOptions`. Default: nothing stops it. */
  readonly leave?: AbortSignal | undefined;
  /** The trace that the run belongs to. See `trace` of `AgentRunOptions`. Default: none. */
  readonly trace?: TraceContext | undefined;
  /** Further observers of the run. See `observers` of `AgentRunOptions`. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
}

/** An agent, which can run sessions. Create it with `createAgent`. */
export interface Agent<
  Value = unknown,
  Tools extends TypedTool = TypedTool,
  Live = JsonValue,
  Context = unknown,
> {
  /** The name from the options. */
  readonly name: string;
  /**
   * Starts a run. One agent can serve many runs at once, but only one per session. `context` is passed to
   * tools as `ctx.context`, and to the agent's options that are functions. `context` is not stored on the
   * log.
   */
  run(input: RunInput, ...options: RunArguments<AgentRunOptions, Context>): Run<Value, Tools, Live>;
  /**
   * Resumes a session. The run continues interrupted work and handles queued messages and answered
   * approvals. Pass the `context` again, because it is not stored on the log.
   */
  resume(
    session: string,
    ...options: RunArguments<Omit<AgentRunOptions, 'session' | 'parent'>, Context>
  ): Run<Value, Tools, Live>;
  /**
   * Approves a call that waits for approval, by its id or by an entry of `result.pendingApprovals`. The
   * run may be in any process. A parked session continues when it is resumed. Rejects with `no_such_call`
   * if no such call waits, and with `already_decided` if the call has another answer.
   */
  approve<const Call extends string | PendingApproval<Tools>>(
    session: string,
    call: Call,
    options?: ApproveOptions<InputOfCall<Call>>,
  ): Promise<void>;
  /**
   * Denies a call that waits for approval. Takes the same arguments and rejects with the same errors as
   * `approve`. The model gets an error result.
   */
  deny(
    session: string,
    call: string | PendingApproval<Tools>,
    options?: DenyOptions,
  ): Promise<void>;
  /**
   * Returns the calls of a session that wait for an approval, whichever process runs the session. Calls
   * that already have an answer are not included. Reading changes nothing. Rejects with `no_such_session`
   * if the session does not exist.
   */
  pendingApprovals(session: string): Promise<readonly PendingApproval<Tools>[]>;
  /**
   * Gives the output of a tool that a client runs, as `run.provideToolResult` does. The run may be in any
   * process. A parked session continues when it is resumed. The same output again has no effect. Resolves
   * with the key of the command on the log.
   */
  provideToolResult<const Call extends string | PendingToolCall<Tools>>(
    session: string,
    call: Call,
    result: ClientToolResult<OutputOfCall<Call>>,
  ): Promise<{ readonly key: string }>;
  /**
   * Returns the calls of a session that a client has to run, whichever process runs the session. Reading
   * changes nothing. Rejects with `no_such_session` if the session does not exist.
   */
  pendingToolCalls(session: string): Promise<readonly PendingToolCall<Tools>[]>;
  /**
   * Answers again, in a fork of the session. By default, the fork ends with the last user input. With
   * `item`, it ends before that item, or before the turn that contains the item.
   */
  regenerate(
    session: string,
    ...options: RunArguments<ForkedRunOptions & { readonly item?: string | undefined }, Context>
  ): Run<Value, Tools, Live>;
  /** Replaces an item with new input and answers the input, in a fork of the session. */
  edit(
    session: string,
    item: string,
    input: RunInput,
    ...options: RunArguments<ForkedRunOptions, Context>
  ): Run<Value, Tools, Live>;
  /**
   * Runs a recorded session through the loop again. Model output, tool results, decisions, times and ids
   * come from the recording. No tool runs and no request is sent. The result has the first record at
   * which this agent would act differently.
   */
  replay(session: string, options?: ReplayOptions): Promise<ReplayResult>;
}
