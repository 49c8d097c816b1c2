import type { Plan } from '@millrace/agent/steps';
import type { AgentWorkflowOptions, Carried } from '../contract/workflow-input.ts';

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
