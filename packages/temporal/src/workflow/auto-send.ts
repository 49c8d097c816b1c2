import type { Plan, Requested } from '@millrace/agent/steps';
import type { JsonObject } from '@millrace/core';
import { ApplicationFailure, uuid4, workflowInfo } from '@temporalio/workflow';
import type { Sent } from '../contract/activities.ts';
import type { AgentWorkflowOptions, CallsPlan, RequestPlan } from '../contract/agent-workflow.ts';
import { activitiesFor, smallEnough } from './activities.ts';
import type { AgentSession } from './agent-session.ts';
import { Lock } from './concurrency.ts';
import { itemsOf } from './session-progress.ts';

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

/** A provider, by its name: in a workflow there is nothing else of it. */
export interface WorkflowProvider {
  readonly name: string;
  /** Refuses: a workflow does no I/O. */
  stream(...given: readonly unknown[]): never;
  /** Refuses, too. */
  complete(...given: readonly unknown[]): never;
  [Symbol.asyncIterator](): AsyncIterator<never>;
}

/** Stands for a provider in workflow code, for `autoSend`. Whoever iterates it is told what to do instead. */
export function workflowProvider(name: string): WorkflowProvider {
  const refuse = (): never => {
    throw refused(name);
  };
  return { name, stream: refuse, complete: refuse, [Symbol.asyncIterator]: refuse };
}

function refused(name: string): ApplicationFailure {
  const message = `Cannot stream provider ${name} in workflow code: it does I/O, which a workflow must not. Use autoSend({ provider, … }), or a streaming context in your own activity: streamingContext(…)`;
  return ApplicationFailure.nonRetryable(message, 'millrace.stream_in_workflow');
}
