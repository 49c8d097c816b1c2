// This is a workflow module as a user would write it.
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { activityTool, runAgent } from '../../temporal/workflow/index.ts';
import { miller as plainAgent } from '../mill.ts';

const weather = activityTool({
  name: 'weather',
  description: 'The weather in a town, now',
  parameters: z.object({ town: z.string() }),
  heartbeatMs: 1_000,
});
const baker = new Agent({ name: 'Baker', instructions: 'You bake.' });
const weatherAgent = Agent.create({
  ...{ name: 'Weather', instructions: 'You report the weather.' },
  ...{ tools: [weather], handoffs: [baker] },
});

interface Given {
  readonly session?: string;
  readonly input?: string;
  /** Uses tools that run in the workflow itself. */
  readonly isPlain?: boolean;
}

/** Runs an agent. A server's `workflowAgent` starts this workflow. */
export async function agentWorkflow(given: Given): Promise<string | undefined> {
  const { session, input, isPlain = false } = given;
  const agent = isPlain ? plainAgent : weatherAgent;
  const result = await runAgent(agent, { session, input, heartbeatMs: 1_000 });
  return result?.finalOutput as string | undefined;
}

/** Runs an agent that calls another agent as a tool. */
export async function nestedWorkflow(input: string): Promise<string | undefined> {
  const busy = new Agent({ name: 'Busy baker', instructions: 'You bake.', tools: [weather] });
  const asks = busy.asTool({ toolName: 'ask_baker', toolDescription: 'Asks the baker' });
  const boss = new Agent({ name: 'Boss', instructions: 'You ask.', tools: [asks] });
  const result = await runAgent(boss, { input, heartbeatMs: 1_000 });
  return result?.finalOutput;
}

/** Runs an agent that needs more turns than allowed. */
export async function shortWorkflow(input: string): Promise<unknown> {
  return (await runAgent(plainAgent, { input, maxTurns: 1 }))?.finalOutput;
}

export { streamingWorkflow } from './streaming-workflow.ts';

/** Runs one agent per session, all at once. */
export async function pairWorkflow(sessions: readonly string[]): Promise<readonly unknown[]> {
  const given = { input: 'Look.', heartbeatMs: 1_000 };
  const runs = sessions.map((session) => runAgent(plainAgent, { ...given, session }));
  return (await Promise.all(runs)).map((result) => result?.finalOutput);
}
