import { type Item, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import type { AgentInputItem, ModelRequest } from '@openai/agents';
import { assertKnownOptions } from '../../known-options.ts';
import { findProvider, MillraceModel, type NamedProviders } from '../../model/millrace-model.ts';
import { toInputItems } from '../../request/convert-items.ts';
import type { SdkResponse } from '../../response/to-response.ts';
import type {
  AgentsActivities,
  AskInput,
  HistoryInput,
  Responded,
} from '../contract/agents-activities.ts';
import { assertPayloadSize, withSdkFailures } from './activity-failures.ts';
import { callTool } from './call-tool.ts';
import { type AgentsActivitiesOptions, activitiesOptionNames } from './logging-agent.ts';
import { respond } from './respond.ts';
import { workerToolNames } from './worker-tool.ts';

/**
 * Creates the activities for workflows that run agents of the SDK. `openaiAgentsPlugin` registers these
 * activities.
 */
export function createAgentsActivities(options: AgentsActivitiesOptions): AgentsActivities {
  assertKnownOptions('createAgentsActivities', options, activitiesOptionNames);
  for (const [name, tool] of Object.entries(options.tools ?? {}))
    if (typeof tool !== 'function') assertKnownOptions(`tool ${name}`, tool, workerToolNames);
  return {
    openaiAgentsHistory: (input) => withSdkFailures(() => history(options.log, input)),
    openaiAgentsRespond: (input) => withSdkFailures((signals) => respond(options, input, signals)),
    openaiAgentsAsk: (input) => withSdkFailures(({ signal }) => ask(options, input, signal)),
    openaiAgentsCall: (input) => withSdkFailures((signals) => callTool(options, input, signals)),
  };
}

async function history(
  log: Log,
  { session, ids }: HistoryInput,
): Promise<readonly AgentInputItem[]> {
  const items = transcript(await snapshot(log, sessionId(session)));
  const isMeant = ({ id, kind }: Item) =>
    ids === undefined || (kind === 'user' && ids.includes(id));
  return assertPayloadSize('the conversation', toInputItems(items.filter(isMeant)));
}

async function ask(
  options: NamedProviders,
  { model: name, request }: AskInput,
  signal: AbortSignal,
): Promise<Responded> {
  const model = new MillraceModel(findProvider(options, name));
  const asked = { ...request, signal } as ModelRequest;
  for await (const event of model.getStreamedResponse(asked)) {
    if (event.type !== 'response_done') continue;
    const response = event.response as SdkResponse;
    return assertPayloadSize('an answer', { stop: { reason: 'stop' }, response });
  }
  throw new TypeError('The stream ended without a response_done event');
}
