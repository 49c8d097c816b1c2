import { type Agent, type AgentOptions, createAgent } from '@millrace/agent';
import { createProvider } from '@millrace/providers';
import { bookkeeper } from '../contract/agents-activities.ts';
import type { AgentsActivitiesOptions } from './create-agents-activities.ts';

/** What to ask and when to stop is the SDK's to say: this one only keeps the books. */
const unlimited = {
  maxTurns: Number.POSITIVE_INFINITY,
  maxTokens: Number.POSITIVE_INFINITY,
  maxRepeats: Number.POSITIVE_INFINITY,
};

/** Asks nobody: each request brings its own. */
const nobody = createProvider('nobody', 'nobody', async function* () {
  yield { deltas: [] };
});

/** The agent that a run of the SDK is on the log. */
export function bookkeeperOf(
  { log, retry, observers }: AgentsActivitiesOptions,
  own: Partial<Pick<AgentOptions, 'provider' | 'tools'>> = {},
): Agent {
  const { provider = nobody, tools = [] } = own;
  const limits = { ...unlimited, maxParallelTools: 100 };
  return createAgent({ name: bookkeeper, provider, tools, log, retry, observers, limits });
}
