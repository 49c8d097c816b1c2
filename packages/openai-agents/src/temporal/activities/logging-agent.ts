import { type Agent, type AgentOptions, createAgent } from '@millrace/agent';
import type { Log } from '@millrace/log';
import {
  createProvider,
  type ModelRequest,
  type Provider,
  type ResponseEnd,
} from '@millrace/providers';
import type { NamedProviders } from '../../model/millrace-model.ts';
import { bookkeeper } from '../contract/agents-activities.ts';
import type { WorkerTool } from './worker-tool.ts';

export interface AgentsActivitiesOptions
  extends NamedProviders,
    Pick<AgentOptions, 'retry' | 'observers'> {
  /** Where sessions are kept, which a server calls its tasks. */
  readonly log: Log;
  /** What each `activityTool` of the workflows does, by its name. */
  readonly tools?: Readonly<Record<string, WorkerTool>> | undefined;
}

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

export interface Dictated {
  readonly provider: Provider;
  /** How the last answer ended, where one did. */
  end(): ResponseEnd | undefined;
}

/** A provider that is asked this, whatever the loop would ask: the SDK keeps its own history. */
export function dictatedProvider(asked: Provider, request: ModelRequest): Dictated {
  let end: ResponseEnd | undefined;
  const provider = createProvider(asked.id, asked.model, async function* (_own, context) {
    for await (const step of asked.stream(request, context)) {
      end = step.end;
      yield step;
    }
  });
  return { provider, end: () => end };
}
