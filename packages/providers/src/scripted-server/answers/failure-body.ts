import type { JsonObject } from '@millrace/core';
import type { WireName } from '../wire-name.ts';
import type { WireFailure } from './wire-answer.ts';

/** An error as the provider puts it into the body of an HTTP reply. */
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

/** The same in the middle of a stream. Responses number their events. */
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

/** The HTTP status that Google has for its error of this name. */
function statusOf(name: string): number {
  return statuses[name] ?? 500;
}
