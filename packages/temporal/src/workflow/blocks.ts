import type { Plan, Requested } from '@millrace/agent/steps';
import type { JsonObject } from '@millrace/core';
import { uuid4, workflowInfo } from '@temporalio/workflow';
import type { Sent } from '../contract/activities.ts';
import type { AgentWorkflowOptions } from '../contract/workflow-input.ts';
import { activitiesFor } from './activities.ts';
import type { AgentSession } from './agent-session.ts';
import { itemsOf } from './items-of.ts';
import { Lock } from './lock.ts';
import type { CallsPlan, RequestPlan } from './session-options.ts';
import { smallEnough } from './small-enough.ts';
import type { WorkflowProvider } from './workflow-provider.ts';

export interface AutoSendOptions extends AgentWorkflowOptions {
  /** By name, as the worker has it: `workflowProvider('claude')`. */
  readonly provider: WorkflowProvider | string;
  /** Where it is streamed to; the workflow's id unless told. */
  readonly session?: string | undefined;
  /** What is to be answered: a text, or items as JSON. What was said in the session before counts too. */
  readonly input: string | readonly JsonObject[];
  readonly instructions?: string | undefined;
}

/** Has a provider answer: one activity, which streams it to the log and returns the settled messages. */
export async function autoSend(options: AutoSendOptions): Promise<Sent> {
  const { session = workflowInfo().workflowId } = options;
  const lock = sending.get(session) ?? new Lock();
  sending.set(session, lock);
  return lock.through(() => send(session, options));
}

/** A session has one run at a time: those that are asked for at once are answered in turn. */
const sending = new Map<string, Lock>();

function send(session: string, options: AutoSendOptions): Promise<Sent> {
  const { workflowId } = workflowInfo();
  const { provider, input, instructions } = options;
  const runId = uuid4();
  const asked = {
    provider: typeof provider === 'string' ? provider : provider.name,
    ...{ session, items: itemsOf(input), instructions, runId, key: `${workflowId}:${runId}` },
    owner: `temporal workflow ${workflowId}`,
  };
  return activitiesFor(options).millraceAutoSend(smallEnough('a request', asked));
}

/** One model request of a plan: an activity that streams it to the log. */
export function runTurn(session: AgentSession, plan: RequestPlan): Promise<Requested | undefined> {
  return session.request(plan);
}

/** The calls of a plan: an activity each, side by side. */
export function runTools(session: AgentSession, plan: CallsPlan): Promise<void> {
  return session.calls(plan);
}

export type { Plan };
