import { type Item, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import type { AgentInputItem, ModelRequest } from '@openai/agents';
import { MillraceModel, type NamedProviders, providerNamed } from '../../model/millrace-model.ts';
import { toInputItems } from '../../request/convert-items.ts';
import type { SdkResponse } from '../../response/to-response.ts';
import type {
  AgentsActivities,
  AskInput,
  HistoryInput,
  Responded,
} from '../contract/agents-activities.ts';
import { alive, smallEnough } from './activity-failures.ts';
import { call } from './call-tool.ts';
import type { AgentsActivitiesOptions } from './logging-agent.ts';
import { respond } from './respond.ts';

/** What workflows that run agents of the SDK need of a worker. `openaiAgentsPlugin` registers them. */
export function createAgentsActivities(options: AgentsActivitiesOptions): AgentsActivities {
  return {
    openaiAgentsHistory: (input) => alive(() => history(options.log, input)),
    openaiAgentsRespond: (input) => alive((signals) => respond(options, input, signals)),
    openaiAgentsAsk: (input) => alive(({ signal }) => ask(options, input, signal)),
    openaiAgentsCall: (input) => alive((signals) => call(options, input, signals)),
  };
}

async function history(
  log: Log,
  { session, ids }: HistoryInput,
): Promise<readonly AgentInputItem[]> {
  const items = transcript(await snapshot(log, sessionId(session)));
  const isMeant = ({ id, kind }: Item) =>
    ids === undefined || (kind === 'user' && ids.includes(id));
  return smallEnough('what was said', toInputItems(items.filter(isMeant)));
}

async function ask(
  options: NamedProviders,
  { model: name, request }: AskInput,
  signal: AbortSignal,
): Promise<Responded> {
  const model = new MillraceModel(providerNamed(options, name));
  const asked = { ...request, signal } as ModelRequest;
  for await (const event of model.getStreamedResponse(asked)) {
    if (event.type !== 'response_done') continue;
    const response = event.response as SdkResponse;
    return smallEnough('an answer', { stop: { reason: 'stop' }, response });
  }
  throw new TypeError('Cannot find the end of a stream that ended');
}
