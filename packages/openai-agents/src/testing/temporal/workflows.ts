// What a user's own workflow module would have.
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { activityTool, runAgent } from '../../temporal/workflow/index.ts';
import { miller as plainMiller } from '../mill.ts';

const weather = activityTool({
  name: 'weather',
  description: 'The weather in a town, now',
  parameters: z.object({ town: z.string() }),
  heartbeatMs: 1_000,
});
const baker = new Agent({ name: 'Baker', instructions: 'You bake.' });
const miller = Agent.create({
  ...{ name: 'Miller', instructions: 'You mill.' },
  ...{ tools: [weather], handoffs: [baker] },
});

interface Given {
  readonly session?: string;
  readonly input?: string;
  /** Whose tools run in the workflow itself. */
  readonly isPlain?: boolean;
}

/** As a server's `workflowAgent` starts it. */
export async function agentWorkflow(given: Given): Promise<string | undefined> {
  const { session, input, isPlain = false } = given;
  const agent = isPlain ? plainMiller : miller;
  const result = await runAgent(agent, { session, input, heartbeatMs: 1_000 });
  return result?.finalOutput as string | undefined;
}

/** Asks another agent by a tool. */
export async function nestedWorkflow(input: string): Promise<string | undefined> {
  const busy = new Agent({ name: 'Busy baker', instructions: 'You bake.', tools: [weather] });
  const asks = busy.asTool({ toolName: 'ask_baker', toolDescription: 'Asks the baker' });
  const boss = new Agent({ name: 'Boss', instructions: 'You ask.', tools: [asks] });
  const result = await runAgent(boss, { input, heartbeatMs: 1_000 });
  return result?.finalOutput;
}

/** More turns than it may have. */
export async function shortWorkflow(input: string): Promise<unknown> {
  return (await runAgent(plainMiller, { input, maxTurns: 1 }))?.finalOutput;
}

export { streamingWorkflow } from './streaming-workflow.ts';

/** An agent for each of the sessions, all at once. */
export async function pairWorkflow(sessions: readonly string[]): Promise<readonly unknown[]> {
  const given = { input: 'Look.', heartbeatMs: 1_000 };
  const runs = sessions.map((session) => runAgent(plainMiller, { ...given, session }));
  return (await Promise.all(runs)).map((result) => result?.finalOutput);
}
