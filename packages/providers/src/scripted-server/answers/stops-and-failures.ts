import type { JsonObject } from '@millrace/core';
import { ScriptedServerError } from '../script.ts';
import type { WireFailure, WireName, WireStop } from './wire-answer.ts';

type StopName = Extract<WireStop, string>;

/**
 * The name of each stop reason in each wire format. For Responses, the name is `completed`, or the reason of
 * an incomplete response.
 */
const stopReasons: Readonly<Record<WireName, Readonly<Partial<Record<StopName, string>>>>> = {
  'openai-chat': {
    stop: 'stop',
    length: 'length',
    tool_use: 'tool_calls',
    content_filter: 'content_filter',
    refusal: 'stop',
  },
  'openai-responses': {
    stop: 'completed',
    length: 'max_output_tokens',
    tool_use: 'completed',
    content_filter: 'content_filter',
    refusal: 'completed',
  },
  anthropic: {
    stop: 'end_turn',
    length: 'max_tokens',
    tool_use: 'tool_use',
    content_filter: 'sensitive',
    refusal: 'refusal',
    pause: 'pause_turn',
  },
  gemini: { stop: 'STOP', length: 'MAX_TOKENS', tool_use: 'STOP', content_filter: 'SAFETY' },
};

/** Returns the name of a stop reason in a wire format. */
export function wireStopReason(wire: WireName, stop: WireStop): string {
  if (typeof stop === 'object') return stop.raw;
  const reason = stopReasons[wire][stop];
  if (reason !== undefined) return reason;
  const advice = 'choose another one, or pass { raw }';
  throw new ScriptedServerError('not_on_wire', `${wire} has no stop reason for ${stop}: ${advice}`);
}

/** Returns the body of an HTTP error reply in the provider's format. */
export function failureBody(wire: WireName, failure: WireFailure, status?: number): JsonObject {
  const { type, message, code = null } = failure;
  switch (wire) {
    case 'openai-chat':
    case 'openai-responses':
      return { error: { message, type, param: null, code } };
    case 'anthropic':
      return { type: 'error', error: { type, message }, request_id: 'req_scripted' };
    case 'gemini':
      return { error: { code: status ?? statusOf(type), message, status: type } };
  }
}

/** Returns an error as an event of a stream. Events of the Responses API have a sequence number. */
export function failureEvent(
  wire: WireName,
  failure: WireFailure,
  sequenceNumber: number,
): JsonObject {
  if (wire !== 'openai-responses') return failureBody(wire, failure);
  const { type, message, code = type } = failure;
  return {
    type: 'error',
    sequence_number: sequenceNumber,
    error: { type, code, message, param: null },
  };
}

const statuses: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

/** Returns the HTTP status of a Google error name. */
function statusOf(name: string): number {
  return statuses[name] ?? 500;
}
