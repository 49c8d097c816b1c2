import type { JsonObject, JsonValue } from '@millrace/core';
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
import { type HttpReply, ScriptError, type Step } from './script.ts';
import type { ScriptedRequest } from './scripted-request.ts';

/** A stream of these steps, whatever they are. */
export function streamReply(
  steps: readonly Step[],
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  const usual = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
  return { status: 200, headers: { ...usual, ...headers }, steps };
}

/** Server-sent events, one step an event. */
export function sseReply(events: readonly SseEvent[], options: SseOptions = {}): HttpReply {
  return streamReply(sseFrames(events, options));
}

/** A recording, framed as its provider does, one step an event. */
export function recordingReply(
  wire: WireName,
  recording: Recording,
  options: SseOptions = {},
): HttpReply {
  return sseReply(recordingEvents(recording), { ...wireFraming[wire], ...options });
}

export function jsonReply(
  status: number,
  body: JsonValue,
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  const usual = { 'content-type': 'application/json' };
  return { status, headers: { ...usual, ...headers }, steps: [JSON.stringify(body)] };
}

/** A refusal before any stream, in the body that the provider gives it. */
export function errorReply(
  wire: WireName,
  status: number,
  failure: WireFailure,
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  return jsonReply(status, failureBody(wire, failure, status), headers);
}

export interface AnswerOptions extends WireEventsOptions, SseOptions {}

/**
 * The answer on the wire that the request speaks, by its path. As with the real ones, chat completions
 * have usage only if the request asks for it. Throws where the path is no wire's, and where the
 * request does not ask for a stream.
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
  // A provider that fails does not say [DONE].
  return recordingReply(wire, events, { ...(answer.failure && { done: false }), ...options });
}

function streamedWireOf(request: ScriptedRequest): WireName {
  const wire = wireOfPath(request.path);
  if (wire === undefined) {
    throw new ScriptError('not_on_wire', `No wire is known at ${request.path}: check the base URL`);
  }
  if (asksForStream(wire, request)) return wire;
  const missing = wire === 'gemini' ? '?alt=sse' : '"stream": true';
  throw new ScriptError('not_on_wire', `Answers are only streamed: send ${missing}`);
}

function asksForStream(wire: WireName, request: ScriptedRequest): boolean {
  if (wire === 'gemini') return request.query.get('alt') === 'sse';
  return fieldsOf(request.body)['stream'] === true;
}

function modelOf(wire: WireName, request: ScriptedRequest): string | undefined {
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

/** The fields of a JSON object, and none of anything else. */
function fieldsOf(value: JsonValue | undefined): JsonObject {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : {};
}
