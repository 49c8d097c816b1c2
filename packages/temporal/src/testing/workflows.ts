// What a user's own workflow module would have.
import { proxyActivities } from '@temporalio/workflow';
import type { TravellingIds } from '../ids/current-ids.ts';
import {
  AgentSession,
  autoSend,
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

export function idsWorkflow(): Promise<TravellingIds> {
  return idsHere();
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
