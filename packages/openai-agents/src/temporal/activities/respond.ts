import { type Requested, requestStep } from '@millrace/agent/steps';
import {
  decodeTranscript,
  findItem,
  type Item,
  noUsage,
  type SessionId,
  sessionId,
  toArray,
  toItem,
  transcriptVersion,
  type Usage,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import type { ResponseEnd } from '@millrace/providers';
import type { LivingSignals } from '@millrace/temporal/activities';
import type { ModelRequest } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/activity';
import { providerNamed } from '../../model/millrace-model.ts';
import { failureOf } from '../../model/model-failure.ts';
import { toModelRequest } from '../../request/to-model-request.ts';
import { toResponse } from '../../response/to-response.ts';
import type { Responded, RespondInput } from '../contract/agents-activities.ts';
import { smallEnough } from './activity-failures.ts';
import { type AgentsActivitiesOptions, bookkeeperOf, dictatedProvider } from './logging-agent.ts';

/**
 * Asks for a turn's answer and streams it to the log. Done again it replaces what a dead try had
 * streamed; where the answer is there already it is given as it is on the log, and nobody is asked.
 */
export async function respond(
  options: AgentsActivitiesOptions,
  { session: name, epoch, turn, model, request }: RespondInput,
  signals: LivingSignals,
): Promise<Responded> {
  const session = sessionId(name);
  const asked = toModelRequest(request as ModelRequest);
  const { provider, end } = dictatedProvider(providerNamed(options, model), asked);
  const agent = bookkeeperOf(options, { provider });
  const requested = await requestStep(agent, { session, epoch, turn, ...signals });
  const { stop } = requested;
  const found = await answerOn({ log: options.log, session }, requested, end());
  if (stop === undefined || found === undefined) throw noAnswer(name, turn);
  const { said, usage } = found;
  const { id } = said;
  const parts = said.parts.map((part, at) => ({ id: `${id}.${at}`, part }));
  const { responseId, model: by, error } = end() ?? {};
  const ended: ResponseEnd = { stop, usage, responseId, model: by };
  const failure = failureOf({ ...ended, error }, parts);
  if (stop.reason !== 'aborted' && failure !== undefined) throw failed(failure, stop.cause);
  if (stop.reason === 'error') throw failed(undefined, stop.cause);
  return smallEnough('an answer', { stop, response: toResponse(parts, ended, id) });
}

interface Said {
  readonly said: Item;
  readonly usage: Usage;
}

/** As it stands on the log, where calls may have other ids than the model gave them. */
async function answerOn(
  { log, session }: { readonly log: Log; readonly session: SessionId },
  { item, turn, attempt }: Requested,
  end: ResponseEnd | undefined,
): Promise<Said | undefined> {
  if (item?.by === 'value' && end !== undefined) {
    const [said] = decodeTranscript(JSON.stringify({ v: transcriptVersion, items: [item.item] }));
    return said && { said, usage: end.usage };
  }
  const state = await snapshot(log, session);
  const found = item && findItem(state, item.itemId);
  const used = toArray(state.usage).findLast((one) => one.turn === turn && one.attempt === attempt);
  return found && { said: toItem(found), usage: used?.usage ?? noUsage };
}

function failed(failure: Error | undefined, cause: string | undefined): ApplicationFailure {
  const message = failure?.message ?? 'The model could not answer';
  const type = cause === undefined ? (failure?.constructor.name ?? 'error') : `millrace.${cause}`;
  return ApplicationFailure.nonRetryable(message, type);
}

function noAnswer(session: string, turn: number): ApplicationFailure {
  const message = `Cannot find the answer of turn ${turn} in session ${session}: the turn was ended by somebody else`;
  return ApplicationFailure.nonRetryable(message, 'millrace.fenced');
}
