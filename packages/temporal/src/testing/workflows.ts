// What a user's own workflow module would have.
import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { TravellingIds } from '../ids/id-header.ts';
import {
  AgentSession,
  type AgentWorkflowInput,
  agentWorkflow,
  autoSend,
  type Carried,
  continueWhenFull,
  listenTo,
  runTools,
  runTurn,
  type Sent,
  workflowProvider,
} from '../workflow/index.ts';

export { agentWorkflow, agentWorkflow as millWorkflow } from '../workflow/index.ts';

/** Asks a provider, without any agent. */
export async function autoSendWorkflow(input: string): Promise<Sent> {
  return autoSend({ provider: workflowProvider('writer'), input, heartbeatMs: 2_000 });
}

/** Asks for two answers at once. */
export function bothWorkflow(inputs: readonly string[]): Promise<readonly Sent[]> {
  return Promise.all(inputs.map(autoSendWorkflow));
}

/** Iterates a provider, which it must not. */
export async function iteratingWorkflow(): Promise<string> {
  let said = '';
  for await (const chunk of workflowProvider('writer')) said += String(chunk);
  return said;
}

export interface OwnActivities {
  shout(text: string): Promise<Sent>;
  idsHere(): Promise<TravellingIds>;
}

const { shout, idsHere } = proxyActivities<OwnActivities>({
  ...{ startToCloseTimeout: 20_000, heartbeatTimeout: 2_000 },
  retry: { initialInterval: 50, maximumAttempts: 2 },
});

/** Has an activity of its own that streams. */
export function shoutWorkflow(text: string): Promise<Sent> {
  return shout(text);
}

/** Has several of them at once, all in one session. */
export function chorusWorkflow(texts: readonly string[]): Promise<readonly Sent[]> {
  return Promise.all(texts.map((text) => shout(text)));
}

/** Asks a provider in a session that is not the workflow's own. */
export function elsewhereWorkflow(session: string, input: string): Promise<Sent> {
  return autoSend({ provider: 'writer', session, input, heartbeatMs: 2_000 });
}

export function idsWorkflow(): Promise<TravellingIds> {
  return idsHere();
}

interface OwnInput {
  readonly agent: string;
  readonly turnsPerExecution: number;
  readonly input?: string;
  readonly carried?: Carried;
}

/** Has an agent, listens for it, and continues as new by itself. */
export async function ownWorkflow({ input, ...rest }: OwnInput): Promise<string> {
  const session = new AgentSession(rest);
  listenTo(session);
  if (input !== undefined) await session.say(input);
  const next = (carried: Carried) => continueAsNew<typeof ownWorkflow>({ ...rest, carried });
  const end = await session.run({ onPlan: continueWhenFull(session, next) });
  return end?.text ?? '';
}

/** Several agents at once, or the same one several times in a row. */
export async function millsWorkflow(
  inputs: readonly AgentWorkflowInput[],
  isInARow = false,
): Promise<readonly string[]> {
  if (!isInARow) return (await Promise.all(inputs.map(agentWorkflow))).map(({ text }) => text);
  const texts: string[] = [];
  for (const input of inputs) texts.push((await agentWorkflow(input)).text);
  return texts;
}

/** Drives an agent step by step, and counts. */
export async function steppingWorkflow(agent: string, input: string): Promise<readonly string[]> {
  const session = new AgentSession({ agent });
  await session.say(input);
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
