import type { Plan, RunEnd, Settled } from '@millrace/agent/steps';
import type { JsonObject, Stop, Usage } from '@millrace/core';

/** What an agent workflow is started with. */
export interface AgentWorkflowInput {
  /** The name of the agent, as the worker has it. */
  readonly agent: string;
  /** The session, which a server calls its task; the workflow's id unless told. */
  readonly session?: string | undefined;
  /** What is said first: a text, or items as JSON. Nothing, where it waits on the log already. */
  readonly input?: string | readonly JsonObject[] | undefined;
  readonly options?: AgentWorkflowOptions | undefined;
  /** From the execution before, which this one continues. */
  readonly carried?: Carried | undefined;
}

export interface AgentWorkflowOptions {
  /** After so many turns it continues as new, unless Temporal suggests it before. */
  readonly turnsPerExecution?: number | undefined;
  /** So long it waits for more when a run is over. 0 unless told: a message starts it again. */
  readonly idleMs?: number | undefined;
  /** A worker that says nothing for so long is taken for dead; 30 seconds unless told. */
  readonly heartbeatMs?: number | undefined;
  /** Of one model request with its retries; an hour unless told. */
  readonly requestTimeoutMs?: number | undefined;
  /** Of one tool call; an hour unless told. */
  readonly callTimeoutMs?: number | undefined;
  /** How often an activity is tried whose worker died or timed out; 10 times unless told. */
  readonly maxAttempts?: number | undefined;
}

/** What an execution hands to the next, as plain data: the conversation itself is on the log. */
export interface Carried {
  readonly step: number;
  readonly epoch: number;
  readonly runId: string | undefined;
  /** Signals and inputs so far: each has its own key on the log. */
  readonly said: number;
  /** How many items were told of. */
  readonly items: number | undefined;
  /** When the session was made: one that was deleted since is not gone on with. */
  readonly createdAt?: number | undefined;
}

export interface AgentWorkflowResult
  extends Pick<RunEnd, 'stop' | 'text' | 'value' | 'valueAt' | 'error'> {
  readonly session: string;
  readonly stop: Stop;
  readonly usage: Usage;
}

/** The answer to the query `transcript`. */
export interface TranscriptAnswer {
  readonly session: string;
  /** The place of the first of these in the session; those before it are on the log. */
  readonly first: number;
  readonly items: readonly Settled[];
}

/** The answer to the query `state`. */
export interface StateAnswer {
  readonly session: string;
  readonly agent: string;
  readonly doing: 'idle' | 'advance' | 'request' | 'calls' | 'wait';
  readonly turn: number | undefined;
  /** The calls that somebody has to decide on. */
  readonly asked: readonly string[];
  readonly isStopping: boolean;
}

export interface AgentSessionOptions extends AgentWorkflowOptions {
  readonly agent: string;
  /** The workflow's id unless told. */
  readonly session?: string | undefined;
  /** From the execution before, where that had the session: `session.carried`. */
  readonly carried?: Carried | undefined;
  /** A run follows at once: whoever interrupts means that one. */
  readonly isStarting?: boolean | undefined;
}

export type RequestPlan = Extract<Plan, { do: 'request' }>;
export type CallsPlan = Extract<Plan, { do: 'calls' }>;

/** Hears what comes next, before it is done. */
export type OnPlan = (plan: RequestPlan | CallsPlan) => Promise<void>;

export interface RunSessionOptions {
  /** A place to continue as new: `continueWhenFull(…)`. */
  readonly onPlan?: OnPlan | undefined;
  readonly ifAsked?: boolean | undefined;
}

export interface AdvanceSessionOptions {
  /** Nobody asks again for an answer that was cut off. */
  readonly keepsCut?: boolean | undefined;
  /** No run is begun where nothing waits to be answered. */
  readonly ifAsked?: boolean | undefined;
}
