import { type RequestStepResult, requestStep } from '@millrace/agent/steps';
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
import type { HeartbeatSignals } from '@millrace/temporal/activities';
import type { ModelRequest } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/activity';
import { findProvider } from '../../model/millrace-model.ts';
import { toSdkError } from '../../model/model-failure.ts';
import { toModelRequest } from '../../request/to-model-request.ts';
import { toResponse } from '../../response/to-response.ts';
import type { Responded, RespondInput } from '../contract/agents-activities.ts';
import { assertPayloadSize } from './activity-failures.ts';
import {
  type AgentsActivitiesOptions,
  fixedRequestProvider,
  loggingAgent,
} from './logging-agent.ts';

/**
 * Requests the answer of a turn and streams it to the log. A retry replaces the partial answer of a dead
 * attempt. If the log already has the answer, the function returns it without a request.
 */
export async function respond(
  options: AgentsActivitiesOptions,
  { session: name, epoch, turn, model, request }: RespondInput,
  signals: HeartbeatSignals,
): Promise<Responded> {
  const session = sessionId(name);
  const chosen = findProvider(options, model);
  const modelRequest = toModelRequest(request as ModelRequest, chosen.id);
  const { provider, end } = fixedRequestProvider(chosen, modelRequest);
  const agent = loggingAgent(options, { provider });
  const requested = await requestStep(agent, { session, epoch, turn, ...signals });
  const { stop } = requested;
  const found = await findAnswer({ log: options.log, session }, requested, end());
  if (stop === undefined || found === undefined) throw missingAnswer(name, turn);
  const { item, usage } = found;
  const { id } = item;
  const parts = item.parts.map((part, at) => ({ id: `${id}.${at}`, part }));
  const { responseId, model: by, error } = end() ?? {};
  const ended: ResponseEnd = { stop, usage, responseId, model: by };
  const failure = toSdkError({ ...ended, error }, parts);
  if (stop.reason !== 'aborted' && failure !== undefined) throw answerFailure(failure, stop.cause);
  if (stop.reason === 'error') throw answerFailure(undefined, stop.cause);
  return assertPayloadSize('an answer', { stop, response: toResponse(parts, ended, id) });
}

interface LoggedAnswer {
  readonly item: Item;
  readonly usage: Usage;
}

/** Reads the answer from the log. On the log, a call may have a different id than in the model's answer. */
async function findAnswer(
  { log, session }: { readonly log: Log; readonly session: SessionId },
  { item, turn, attempt }: RequestStepResult,
  end: ResponseEnd | undefined,
): Promise<LoggedAnswer | undefined> {
  if (item?.by === 'value' && end !== undefined) {
    const [decoded] = decodeTranscript(
      JSON.stringify({ v: transcriptVersion, items: [item.item] }),
    );
    return decoded && { item: decoded, usage: end.usage };
  }
  const state = await snapshot(log, session);
  const found = item && findItem(state, item.itemId);
  const used = toArray(state.usage).findLast((one) => one.turn === turn && one.attempt === attempt);
  return found && { item: toItem(found), usage: used?.usage ?? noUsage };
}

function answerFailure(failure: Error | undefined, cause: string | undefined): ApplicationFailure {
  const message = failure?.message ?? 'The model could not answer';
  const type = cause === undefined ? (failure?.constructor.name ?? 'error') : `millrace.${cause}`;
  return ApplicationFailure.nonRetryable(message, type);
}

function missingAnswer(session: string, turn: number): ApplicationFailure {
  const message = `Cannot find the answer of turn ${turn} in session ${session}: another process ended the turn`;
  return ApplicationFailure.nonRetryable(message, 'millrace.fenced');
}
