import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { failureBody } from './answers/stops-and-failures.ts';
import {
  type WireAnswer,
  type WireFailure,
  type WireName,
  wireOfPath,
} from './answers/wire-answer.ts';
import { type WireEventsOptions, wireEvents } from './answers/wire-events.ts';
import { type Recording, recordingEvents, wireFraming } from './framing/frame-recording.ts';
import { type SseEvent, type SseOptions, sseFrames } from './framing/sse-frames.ts';
import { type HttpReply, ScriptedServerError, type Step } from './script.ts';
import type { ScriptedRequest } from './scripted-request.ts';

/** Creates a streaming reply from steps. */
export function streamReply(
  steps: readonly Step[],
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  const usual = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
  return { status: 200, headers: { ...usual, ...headers }, steps };
}

/** Creates a reply with server-sent events, one step per event. */
export function sseReply(events: readonly SseEvent[], options: SseOptions = {}): HttpReply {
  return streamReply(sseFrames(events, options));
}

/** Creates a reply from a recording in the provider's format, one step per event. */
export function recordingReply(
  wire: WireName,
  recording: Recording,
  options: SseOptions = {},
): HttpReply {
  return sseReply(recordingEvents(recording), { ...wireFraming[wire], ...options });
}

/** Creates a JSON reply. */
export function jsonReply(
  status: number,
  body: JsonValue,
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  const usual = { 'content-type': 'application/json' };
  return { status, headers: { ...usual, ...headers }, steps: [JSON.stringify(body)] };
}

/** Creates an error reply, with a body in the provider's format. The reply contains no stream. */
export function errorReply(
  wire: WireName,
  status: number,
  failure: WireFailure,
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  return jsonReply(status, failureBody(wire, failure, status), headers);
}

/** Options of `answerReply`. */
export interface AnswerOptions extends WireEventsOptions, SseOptions {}

/**
 * Creates the reply for an answer. The path of the request determines the wire format. As with the real API,
 * chat completions include usage only if the request asks for it. Throws if the path belongs to no wire
 * format, or if the request does not ask for a stream.
 */
export function answerReply(
  answer: WireAnswer,
  request: ScriptedRequest,
  options: AnswerOptions = {},
): HttpReply {
  const wire = streamedWireOf(request);
  const model = modelOf(wire, request);
  const withModel = { ...(model !== undefined && { model }), ...answer };
  const events = wireEvents(wire, withRequestedUsage(wire, withModel, request), options);
  // If the answer fails, the provider does not send [DONE].
  return recordingReply(wire, events, { ...(answer.failure && { done: false }), ...options });
}

function streamedWireOf(request: ScriptedRequest): WireName {
  const wire = wireOfPath(request.path);
  if (wire === undefined) {
    throw new ScriptedServerError(
      'not_on_wire',
      `No wire is known at ${request.path}: check the base URL`,
    );
  }
  if (asksForStream(wire, request)) return wire;
  const missing = wire === 'gemini' ? '?alt=sse' : '"stream": true';
  throw new ScriptedServerError(
    'not_on_wire',
    `The scripted server only streams answers: send ${missing}`,
  );
}

function asksForStream(wire: WireName, request: ScriptedRequest): boolean {
  if (wire === 'gemini') return request.query.get('alt') === 'sse';
  return fieldsOf(request.body)['stream'] === true;
}

/** Returns the model that a request names, or undefined. */
export function modelOf(wire: WireName, request: ScriptedRequest): string | undefined {
  if (wire === 'gemini') return /models\/([^/]+):/.exec(request.path)?.[1];
  const model = fieldsOf(request.body)['model'];
  return typeof model === 'string' ? model : undefined;
}

function withRequestedUsage(
  wire: WireName,
  answer: WireAnswer,
  request: ScriptedRequest,
): WireAnswer {
  const options = fieldsOf(fieldsOf(request.body)['stream_options']);
  if (wire !== 'openai-chat' || options['include_usage'] === true) return answer;
  const { usage: _unasked, ...rest } = answer;
  return rest;
}

/** Returns the value if it is a JSON object, and otherwise an empty object. */
function fieldsOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
