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
  /** The state of the previous execution. Set if this execution continues it. */
  readonly carried?: ContinuationState | undefined;
}

/** Limits and timeouts of an agent workflow. */
export interface AgentWorkflowOptions {
  /**
   * Number of turns after which the workflow continues as new. It may do so earlier if Temporal
   * suggests it. Default: 200.
   */
  readonly turnsPerExecution?: number | undefined;
  /**
   * How long the workflow waits for more messages after a run, in milliseconds. After that it ends, and a
   * later message starts it again. Default: 0.
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
 * State that an execution passes to the next one as plain data. The conversation itself is on the
 * log.
 */
export interface ContinuationState {
  readonly step: number;
  readonly epoch: number;
  readonly runId: string | undefined;
  /**
   * The number of commands that the workflow has sent so far. Each command has its own key on the log.
   */
  readonly said: number;
  /** Number of items that earlier executions have reported. */
  readonly items: number | undefined;
  /**
   * Creation time of the session. If the session was deleted, the workflow does not continue in a
   * new one.
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
  /** The index of the first of `items` in the session. Earlier items are on the log. */
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
  /** True if a run starts immediately. An interrupt then applies to that run. Default: false. */
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
   * Called between steps. Use `continueWhenFull(…)` to continue as new there. Default: the workflow does
   * not continue as new.
   */
  readonly onPlan?: OnPlan | undefined;
  /** Starts a run only if a message waits for an answer. Default: false. */
  readonly ifAsked?: boolean | undefined;
}

/** Options of `AgentSession.advance`. */
export interface AdvanceSessionOptions {
  /** Keeps an incomplete answer. Otherwise it is requested again. Default: false. */
  readonly keepsCut?: boolean | undefined;
  /** Starts a run only if a message waits for an answer. Default: false. */
  readonly ifAsked?: boolean | undefined;
}
