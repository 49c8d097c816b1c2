import type { WireName } from '../answers/wire-answer.ts';
import { frameSse, type SseOptions } from './sse-frames.ts';

/** The SSE format of each provider. */
export const wireFraming: Readonly<Record<WireName, SseOptions>> = {
  'openai-chat': { done: true },
  'openai-responses': { eventNames: 'type' },
  anthropic: { eventNames: 'type' },
  gemini: { lineEnding: '\r\n' },
};

/** Recorded events: a text with one JSON event per line, or the lines. */
export type Recording = string | readonly string[];

/** The non-empty lines of a recording. */
export function recordingEvents(recording: Recording): readonly string[] {
  const lines = typeof recording === 'string' ? recording.split(/\r?\n/) : recording;
  return lines.filter((line) => line.trim() !== '');
}

/**
 * Encodes a recording as the bytes that its provider sent. Options override the provider's format.
 */
export function frameRecording(
  wire: WireName,
  recording: Recording,
  options: SseOptions = {},
): Uint8Array {
  return frameSse(recordingEvents(recording), { ...wireFraming[wire], ...options });
}
