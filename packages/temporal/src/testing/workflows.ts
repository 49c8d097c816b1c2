// This is a workflow module as a user would write it.
import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { PropagatedIds } from '../ids/id-header.ts';
import {
  AgentSession,
  type AgentWorkflowInput,
  agentWorkflow,
  autoSend,
  type ContinuationState,
  continueWhenFull,
  listenTo,
  runTools,
  runTurn,
  type SentAnswer,
  workflowProvider,
} from '../workflow/index.ts';

export { agentWorkflow, agentWorkflow as supportWorkflow } from '../workflow/index.ts';

/** Sends a request to a provider without an agent. */
export async function autoSendWorkflow(input: string): Promise<SentAnswer> {
  return autoSend({ provider: workflowProvider('writer'), input, heartbeatMs: 2_000 });
}

/** Sends two requests at once. */
export function concurrentSendsWorkflow(inputs: readonly string[]): Promise<readonly SentAnswer[]> {
  return Promise.all(inputs.map(autoSendWorkflow));
}

/** Iterates a provider, which is not allowed. */
export async function iteratingWorkflow(): Promise<string> {
  let text = '';
  for await (const chunk of workflowProvider('writer')) text += String(chunk);
  return text;
}

export interface OwnActivities {
  shout(text: string): Promise<SentAnswer>;
  idsHere(): Promise<PropagatedIds>;
}

const { shout, idsHere } = proxyActivities<OwnActivities>({
  ...{ startToCloseTimeout: 20_000, heartbeatTimeout: 2_000 },
  retry: { initialInterval: 50, maximumAttempts: 2 },
});

/** Calls a custom activity that streams. */
export function shoutWorkflow(text: string): Promise<SentAnswer> {
  return shout(text);
}

/** Calls the custom activity several times at once, in one session. */
export function concurrentShoutsWorkflow(texts: readonly string[]): Promise<readonly SentAnswer[]> {
  return Promise.all(texts.map((text) => shout(text)));
}

/** Sends a request to a provider in another session than the workflow's own. */
export function otherSessionWorkflow(session: string, input: string): Promise<SentAnswer> {
  return autoSend({ provider: 'writer', session, input, heartbeatMs: 2_000 });
}

export function idsWorkflow(): Promise<PropagatedIds> {
  return idsHere();
}

interface OwnInput {
  readonly agent: string;
  readonly turnsPerExecution: number;
  readonly input?: string;
  readonly carried?: ContinuationState;
}

/** Drives an agent, handles its signals and continues as new. */
export async function ownWorkflow({ input, ...rest }: OwnInput): Promise<string> {
  const session = new AgentSession(rest);
  listenTo(session);
  if (input !== undefined) await session.sendMessage(input);
  const next = (carried: ContinuationState) =>
    continueAsNew<typeof ownWorkflow>({ ...rest, carried });
  const end = await session.run({ onPlan: continueWhenFull(session, next) });
  return end?.text ?? '';
}

/** Runs several agents in parallel or in sequence. */
export async function severalAgentsWorkflow(
  inputs: readonly AgentWorkflowInput[],
  isSequential = false,
): Promise<readonly string[]> {
  if (!isSequential) return (await Promise.all(inputs.map(agentWorkflow))).map(({ text }) => text);
  const texts: string[] = [];
  for (const input of inputs) texts.push((await agentWorkflow(input)).text);
  return texts;
}

/** Drives an agent step by step and returns the steps. */
export async function steppingWorkflow(agent: string, input: string): Promise<readonly string[]> {
  const session = new AgentSession({ agent });
  await session.sendMessage(input);
  const done: string[] = [];
  for (;;) {
    const plan = await session.advance();
    done.push(plan.do);
    if (plan.do === 'done') return [...done, plan.text];
    if (plan.do === 'idle') return done;
    if (plan.do === 'request') await runTurn(session, plan);
    else await runTools(session, plan);
  }
}
