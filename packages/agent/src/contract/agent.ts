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
 * The option `context` of a run. It is required if the tools, the instructions or the policy of the agent
 * declare a type for the context.
 */
export type ContextOption<Context> = unknown extends Context
  ? { readonly context?: Context | undefined }
  : { readonly context: Context };

/**
 * The last arguments of a method that starts a run. The options argument is required if `context` is
 * required.
 */
export type RunArguments<Options, Context> = unknown extends Context
  ? [options?: Options & ContextOption<Context>]
  : [options: Options & ContextOption<Context>];

/** Options of `Agent.run` and `Agent.resume`. */
export interface AgentRunOptions {
  /** The session to run in. Default: a new session. */
  readonly session?: string | undefined;
  /** A signal that aborts the run. Default: none. `run.abort` also aborts the run. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Stops the run without ending it, for a process that has to exit. The run releases its lease. It writes
   * nothing more, except the results of calls that finish within 2 s. A different process can resume the
   * session. The result has a stop with the cause `left`. Default: none.
   */
  readonly leave?: AbortSignal | undefined;
  /**
   * The trace that the run belongs to, as `traceContext(headers…)` returns it. It is stored on the log and
   * passed to observers, to tools (as `ctx.trace`) and to providers. A resumed run keeps its original trace.
   * Default: none.
   */
  readonly trace?: TraceContext | undefined;
  /**
   * Observers for this run and for its sub-agents, in addition to the observers of each agent.
   * Default: none.
   */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * The tool call that runs this agent as a sub-agent: `ctx.asParent` of a tool with `startsSession`. Pass
   * `ctx.child` as `session`. Then questions reach the caller's user, usage counts toward the caller's
   * limits, and the caller's `whileAsking` applies. An interrupted run continues without adding its input
   * again. Default: none.
   */
  readonly parent?: ParentCall | undefined;
}

/** Options of `Agent.regenerate` and `Agent.edit`. */
export interface ForkedRunOptions {
  /** The id of the fork. Default: a new session id. */
  readonly into?: string | undefined;
  /** Aborts the run. See `signal` of `AgentRunOptions`. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Stops the run without ending it. See `leave` of `AgentRunOptions`. Default: none. */
  readonly leave?: AbortSignal | undefined;
  /** The trace that the run belongs to. See `trace` of `AgentRunOptions`. Default: none. */
  readonly trace?: TraceContext | undefined;
  /** Additional observers of the run. See `observers` of `AgentRunOptions`. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /** Called with the size of each copied part. See `onCopy` of `Log.fork`. Default: none. */
  readonly onCopy?: ((bytes: number) => void) | undefined;
}

/** An agent that can run sessions. Create it with `createAgent`. */
export interface Agent<
  Value = unknown,
  Tools extends TypedTool = TypedTool,
  Live = JsonValue,
  Context = unknown,
> {
  /** The name that the options of `createAgent` set. */
  readonly name: string;
  /** Whether callers can add tools, instructions and request options to a message. Default: `refuse`. */
  readonly callerOptions?: 'accept' | 'refuse' | undefined;
  /**
   * Starts a run. One agent can have many runs at the same time, but only one per session. `context` is
   * passed to tools as `ctx.context`, and to the agent's options that are functions. The log does not store
   * `context`.
   */
  run(input: RunInput, ...options: RunArguments<AgentRunOptions, Context>): Run<Value, Tools, Live>;
  /**
   * Resumes a session. The run continues interrupted work, and it processes queued messages and answered
   * approvals. Pass the `context` again, because the log does not store it.
   */
  resume(
    session: string,
    ...options: RunArguments<Omit<AgentRunOptions, 'session' | 'parent'>, Context>
  ): Run<Value, Tools, Live>;
  /**
   * Approves a call that waits for approval, by its id or by an entry of `result.pendingApprovals`. The run
   * can be in any process. If the session is parked, it continues when it is resumed. Rejects with
   * `no_such_call` if no call with this id waits. Rejects with `already_decided` if the call already has a
   * different answer.
   */
  approve<const Call extends string | PendingApproval<Tools>>(
    session: string,
    call: Call,
    options?: ApproveOptions<InputOfCall<Call>>,
  ): Promise<void>;
  /**
   * Denies a call that waits for approval. The arguments and errors are the same as for `approve`. The model
   * gets an error result.
   */
  deny(
    session: string,
    call: string | PendingApproval<Tools>,
    options?: DenyOptions,
  ): Promise<void>;
  /**
   * Returns the calls of a session that wait for an approval. The session can run in any process. Calls that
   * already have an answer are not included. This method does not change the session. Rejects with
   * `no_such_session` if the session does not exist.
   */
  pendingApprovals(session: string): Promise<readonly PendingApproval<Tools>[]>;
  /**
   * Provides the output of a tool that a client runs, as `run.provideToolResult` does. The run can be in any
   * process. If the session is parked, it continues when it is resumed. Sending the same output again has no
   * effect. Resolves with the key of the command on the log.
   */
  provideToolResult<const Call extends string | PendingToolCall<Tools>>(
    session: string,
    call: Call,
    result: ClientToolResult<OutputOfCall<Call>>,
  ): Promise<{ readonly key: string }>;
  /**
   * Returns the calls of a session that a client has to run. The session can run in any process. This method
   * does not change the session. Rejects with `no_such_session` if the session does not exist.
   */
  pendingToolCalls(session: string): Promise<readonly PendingToolCall<Tools>[]>;
  /**
   * Creates a fork of the session and generates a new answer there. By default, the fork ends with the last
   * user input. With `item`, the fork ends before that item, or before the turn that contains the item.
   */
  regenerate(
    session: string,
    ...options: RunArguments<ForkedRunOptions & { readonly item?: string | undefined }, Context>
  ): Run<Value, Tools, Live>;
  /** Creates a fork of the session in which new input replaces an item, and answers the input there. */
  edit(
    session: string,
    item: string,
    input: RunInput,
    ...options: RunArguments<ForkedRunOptions, Context>
  ): Run<Value, Tools, Live>;
  /**
   * Runs a recorded session through the loop again. Model output, tool results, decisions, times and ids come
   * from the recording. No tool runs and no request is sent. The result has the first record at which this
   * agent behaves differently.
   */
  replay(session: string, options?: ReplayOptions): Promise<ReplayResult>;
}
