import { type WireName, wireOfPath } from '../answers/wire-answer.ts';
import { errorReply, modelOf } from '../replies.ts';
import type { HttpReply } from '../script.ts';
import type { ScriptedRequest } from '../scripted-request.ts';
import { requestFaults } from './request-faults.ts';

/** A request that the real provider would reject. */
export interface Refusal {
  /** A reply with the status 400 and an error body in the provider's format. */
  readonly reply: HttpReply;
  /** A message with the request and its faults. */
  readonly message: string;
}

/** Maximum number of faults in a message. An invalid conversation can have thousands of faults. */
const maxListed = 5;

/** The error type with which each provider rejects a request. */
const errorTypes: Readonly<Record<WireName, string>> = {
  'openai-chat': 'invalid_request_error',
  'openai-responses': 'invalid_request_error',
  anthropic: 'invalid_request_error',
  gemini: 'INVALID_ARGUMENT',
};

/**
 * Checks a request. Returns undefined if its provider would accept the request, or if the request belongs to
 * no known API.
 */
export function refusalOf(request: ScriptedRequest): Refusal | undefined {
  const wire = wireOfPath(request.path);
  if (wire === undefined || request.method !== 'POST') return undefined;
  const faults = requestFaults(wire, request.body, modelOf(wire, request));
  if (faults.length === 0) return undefined;
  const more = faults.length - maxListed;
  const listed = faults.slice(0, maxListed).join('; ') + (more > 0 ? `; and ${more} more` : '');
  return {
    reply: errorReply(wire, 400, { type: errorTypes[wire], message: listed }),
    message: `${request.method} ${request.path} was refused: ${listed}`,
  };
}
