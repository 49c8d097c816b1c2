import type { FinishedItem, Plan, RunEnd } from '@millrace/agent/steps';
import type { JsonObject, Stop, Usage } from '@millrace/core';

/** Input of an agent workflow. */
export interface AgentWorkflowInput {
  /** Name of the agent on the worker. */
  readonly agent: string;
  /** Session id, which is the task id on a server. Default: the workflow id. */
  readonly session?: string | undefined;
  /** The first message, as a text or as JSON items. Omit it if the message is already on the log. */
  readonly input?: string | readonly JsonObject[] | undefined;
  /** Limits and timeouts. Default: see `AgentWorkflowOptions`. */
  readonly options?: AgentWorkflowOptions | undefined;
  /** The state of the previous execution, if this execution continues it. Default: none. */
  readonly carried?: ContinuationState | undefined;
}

/** Limits and timeouts of an agent workflow. */
export interface AgentWorkflowOptions {
  /**
   * Number of turns after which the workflow continues as new. It continues as new earlier if Temporal
   * suggests it. Default: 200.
   */
  readonly turnsPerExecution?: number | undefined;
  /**
   * The time in milliseconds for which the workflow waits for more messages after a run. After this time, the
   * workflow ends, and a later message starts it again. Default: 0.
   */
  readonly idleMs?: number | undefined;
  /** The time without a heartbeat after which a worker counts as dead, in milliseconds. Default: 30 s. */
  readonly heartbeatMs?: number | undefined;
  /** Timeout of one model request, including retries. Default: 1 h. */
  readonly requestTimeoutMs?: number | undefined;
  /** Timeout of one tool call. Default: 1 h. */
  readonly callTimeoutMs?: number | undefined;
  /** Maximum number of attempts of an activity whose worker died or timed out. Default: 10. */
  readonly maxAttempts?: number | undefined;
}

/**
 * State that an execution passes to the next execution, as plain data. The conversation itself is on the log.
 */
export interface ContinuationState {
  readonly step: number;
  readonly epoch: number;
  readonly runId: string | undefined;
  /**
   * The number of commands that the workflow has sent. The key of a command contains this number, so each
   * command has its own key.
   */
  readonly said: number;
  /** Number of items that earlier executions have reported. */
  readonly items: number | undefined;
  /**
   * Creation time of the session. If the session was deleted, the workflow does not continue in a new session
   * with the same id.
   */
  readonly createdAt?: number | undefined;
}

/** Result of an agent workflow. An error of the model is a result, not a failed workflow. */
export interface AgentWorkflowResult
  extends Pick<RunEnd, 'stop' | 'text' | 'value' | 'valueAt' | 'error'> {
  readonly session: string;
  readonly stop: Stop;
  readonly usage: Usage;
}

/** Result of the query `transcript`. */
export interface TranscriptAnswer {
  readonly session: string;
  /** The index in the session of the first item in `items`. Earlier items are only on the log. */
  readonly first: number;
  readonly items: readonly FinishedItem[];
}

/** Result of the query `state`. */
export interface StateAnswer {
  readonly session: string;
  readonly agent: string;
  readonly doing: 'idle' | 'advance' | 'request' | 'tool_calls' | 'wait';
  readonly turn: number | undefined;
  /** Ids of the tool calls that wait for an approval. */
  readonly asked: readonly string[];
  readonly isStopping: boolean;
}

/** Options of an `AgentSession`. */
export interface AgentSessionOptions extends AgentWorkflowOptions {
  /** Name of the agent on the worker. */
  readonly agent: string;
  /** Session id. Default: the workflow id. */
  readonly session?: string | undefined;
  /**
   * The state of the previous execution of this session, from `session.carried`. Default: the session
   * starts here.
   */
  readonly carried?: ContinuationState | undefined;
  /** True if a run starts immediately. An early interrupt then applies to that run. Default: false. */
  readonly isStarting?: boolean | undefined;
}

/** A plan to send a model request. */
export type RequestPlan = Extract<Plan, { do: 'request' }>;
/** A plan to run the tool calls of a turn. */
export type ToolCallsPlan = Extract<Plan, { do: 'tool_calls' }>;

/** Called with the next plan before it is executed. */
export type OnPlan = (plan: RequestPlan | ToolCallsPlan) => Promise<void>;

/** Options of `AgentSession.run`. */
export interface RunSessionOptions {
  /**
   * Called between steps. Use `continueWhenFull(…)` to continue as new between two steps. Default: the
   * workflow does not continue as new.
   */
  readonly onPlan?: OnPlan | undefined;
  /** If true, starts a run only if a message waits for an answer. Default: false. */
  readonly ifAsked?: boolean | undefined;
}

/** Options of `AgentSession.advance`. */
export interface AdvanceSessionOptions {
  /** If true, keeps an incomplete answer. If false, asks the model again. Default: false. */
  readonly keepsCut?: boolean | undefined;
  /** If true, starts a run only if a message waits for an answer. Default: false. */
  readonly ifAsked?: boolean | undefined;
}
