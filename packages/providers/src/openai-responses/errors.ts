import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { fault, ReportedFault, reportsError, WireFault } from '../errors/wire-fault.ts';
import { objectIn, textIn } from '../json/fields.ts';
import type { StopReasons } from '../wire/response-end.ts';

/** Maps the status `completed` and the reasons of incomplete responses to stop reasons. */
export const stopReasons: StopReasons = {
  completed: 'stop',
  max_output_tokens: 'length',
  content_filter: 'content_filter',
};

/** Returns the provider's reason why a response ended. */
export function rawStopOf(status: string, response: JsonObject): string {
  if (status !== 'incomplete') return status;
  return textIn(objectIn(response, 'incomplete_details'), 'reason') ?? status;
}

/** Returns the fault for a failed response. If an `error` event came before, it contains the same error. */
export function failureOf(response: JsonObject): Error {
  const body = { error: response['error'] ?? null };
  if (reportsError(body)) return new ReportedFault(body);
  return new WireFault({ message: 'the response failed without a reason', codes: [] });
}

/** Returns the fault for an event without a type. This API has no such events. */
export function unknownEventFault(event: JsonObject): WireFault {
  return isChat(event) ? wrongApiFault() : fault('protocol_error', 'an event has no type');
}

/** Returns the fault for an answer that is neither a stream nor a response. */
export function unknownAnswerFault(body: JsonValue): WireFault {
  const isObjectOfChat = isJsonObject(body) && isChat(body);
  return isObjectOfChat
    ? wrongApiFault()
    : fault('protocol_error', 'the answer is not a response object');
}

function isChat(message: JsonObject): boolean {
  return Array.isArray(message['choices']);
}

function wrongApiFault(): WireFault {
  const message =
    'the server at this URL uses Chat Completions, not Responses; use openaiChat for it';
  return fault('protocol_error', message);
}
