import type { Plan, RequestStepResult } from '@millrace/agent/steps';
import type { JsonObject } from '@millrace/core';
import { ApplicationFailure, uuid4, workflowInfo } from '@temporalio/workflow';
import type { SentAnswer } from '../contract/activities.ts';
import type {
  AgentWorkflowOptions,
  RequestPlan,
  ToolCallsPlan,
} from '../contract/agent-workflow.ts';
import { activitiesFor, assertPayloadSize } from './activities.ts';
import type { AgentSession } from './agent-session.ts';
import { Lock } from './concurrency.ts';
import { toItems } from './session-progress.ts';

/** Options of `autoSend`. */
export interface AutoSendOptions extends AgentWorkflowOptions {
  /** The provider, from `workflowProvider('claude')`, or its name on the worker. */
  readonly provider: WorkflowProvider | string;
  /** Session to stream to. Default: the workflow id. */
  readonly session?: string | undefined;
  /**
   * The message to answer, as a text or as JSON items. The request also contains the earlier messages of
   * the session.
   */
  readonly input: string | readonly JsonObject[];
  /** System instructions for the provider. Default: none. */
  readonly instructions?: string | undefined;
}

/**
 * Sends a request to a provider in one activity. The activity streams the answer to the log and returns
 * the finished messages.
 */
export async function autoSend(options: AutoSendOptions): Promise<SentAnswer> {
  const { session = workflowInfo().workflowId } = options;
  const lock = sendLocks.get(session) ?? new Lock();
  sendLocks.set(session, lock);
  return lock.run(() => send(session, options));
}

/** One lock per session. A session has only one run at a time, so concurrent requests wait for each other. */
const sendLocks = new Map<string, Lock>();

function send(session: string, options: AutoSendOptions): Promise<SentAnswer> {
  const { workflowId } = workflowInfo();
  const { provider, input, instructions } = options;
  const runId = uuid4();
  const request = {
    provider: typeof provider === 'string' ? provider : provider.name,
    ...{ session, items: toItems(input), instructions, runId, key: `${workflowId}:${runId}` },
    owner: `temporal workflow ${workflowId}`,
  };
  return activitiesFor(options).millraceAutoSend(assertPayloadSize('a request', request));
}

/** Executes the model request of a plan in an activity that streams to the log. */
export function runTurn(
  session: AgentSession,
  plan: RequestPlan,
): Promise<RequestStepResult | undefined> {
  return session.request(plan);
}

/** Executes the tool calls of a plan in parallel, each call in its own activity. */
export function runTools(session: AgentSession, plan: ToolCallsPlan): Promise<void> {
  return session.toolCalls(plan);
}

export type { Plan };

/** A placeholder for a provider in workflow code. It has only a name. */
export interface WorkflowProvider {
  readonly name: string;
  /** Always throws, because a workflow must not do I/O. */
  stream(...given: readonly unknown[]): never;
  /** Always throws, because a workflow must not do I/O. */
  complete(...given: readonly unknown[]): never;
  /** Always throws, because a workflow must not do I/O. */
  [Symbol.asyncIterator](): AsyncIterator<never>;
}

/**
 * Creates a placeholder for a provider in workflow code, for `autoSend`. If workflow code iterates the
 * placeholder, it gets an error that names the alternatives.
 */
export function workflowProvider(name: string): WorkflowProvider {
  const refuse = (): never => {
    throw ioInWorkflow(name);
  };
  return { name, stream: refuse, complete: refuse, [Symbol.asyncIterator]: refuse };
}

function ioInWorkflow(name: string): ApplicationFailure {
  const message = `Cannot stream provider ${name} in workflow code: it does I/O, which workflow code must not do. Use autoSend({ provider, … }), or streamingContext(…) in your own activity`;
  return ApplicationFailure.nonRetryable(message, 'millrace.stream_in_workflow');
}
