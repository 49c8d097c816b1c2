import type { JsonValue } from '@millrace/core';
import { failureBody } from './answers/failure-body.ts';
import type { WireFailure } from './answers/wire-answer.ts';
import { type Recording, recordingEvents, wireFraming } from './framing/frame-recording.ts';
import { type SseEvent, type SseOptions, sseFrames } from './framing/sse-frames.ts';
import type { HttpReply, Step } from './reply.ts';
import type { WireName } from './wire-name.ts';

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
