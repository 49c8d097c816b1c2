import { type Agent, type AgentOptions, createAgent } from '@millrace/agent';
import type { OptionNames } from '@millrace/core';
import type { Log } from '@millrace/log';
import {
  createProvider,
  type ModelRequest,
  type Provider,
  type ResponseEnd,
} from '@millrace/providers';
import type { NamedProviders } from '../../model/millrace-model.ts';
import { loggingAgentName } from '../contract/agents-activities.ts';
import type { WorkerTool } from './worker-tool.ts';

/** The providers, tools and log of a worker. */
export interface AgentsActivitiesOptions
  extends NamedProviders,
    Pick<AgentOptions, 'retry' | 'observers'> {
  /** The log with the sessions. On a server, a session is a task. */
  readonly log: Log;
  /** The implementation of each `activityTool` of the workflows, by name. Default: none. */
  readonly tools?: Readonly<Record<string, WorkerTool>> | undefined;
}

/** The names of all options of `createAgentsActivities`. */
export const activitiesOptionNames: OptionNames<AgentsActivitiesOptions> = {
  ...{ provider: true, providers: true, retry: true, observers: true, log: true, tools: true },
};

/**
 * The settings of the logging agent, which has no limits. The SDK decides what to request and when to stop,
 * and this agent only writes to the log.
 */
const unlimited = {
  maxTurns: Number.POSITIVE_INFINITY,
  maxTokens: Number.POSITIVE_INFINITY,
  maxRepeats: Number.POSITIVE_INFINITY,
};

/** A provider that is never called. The agent needs a provider, but each request uses its own provider. */
const noProvider = createProvider('nobody', 'nobody', async function* () {
  yield { deltas: [] };
});

/** Creates the agent that records a run of the SDK on the log. */
export function loggingAgent(
  { log, retry, observers }: AgentsActivitiesOptions,
  own: Partial<Pick<AgentOptions, 'provider' | 'tools'>> = {},
): Agent {
  const { provider = noProvider, tools = [] } = own;
  const limits = { ...unlimited, maxParallelTools: 100 };
  return createAgent({ name: loggingAgentName, provider, tools, log, retry, observers, limits });
}

export interface FixedRequest {
  readonly provider: Provider;
  /** Returns the end of the last answer. Undefined if there was no answer. */
  end(): ResponseEnd | undefined;
}

/** Creates a provider that always sends this request, because the SDK keeps its own history. */
export function fixedRequestProvider(inner: Provider, request: ModelRequest): FixedRequest {
  let end: ResponseEnd | undefined;
  const provider = createProvider(inner.id, inner.model, async function* (_own, context) {
    for await (const step of inner.stream(request, context)) {
      end = step.end;
      yield step;
    }
  });
  return { provider, end: () => end };
}
