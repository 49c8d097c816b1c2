import type { WireName } from '../answers/wire-answer.ts';
import { frameSse, type SseOptions } from './sse-frames.ts';

/** The SSE format of each provider. */
export const wireFraming: Readonly<Record<WireName, SseOptions>> = {
  'openai-chat': { done: true },
  'openai-responses': { eventNames: 'type' },
  anthropic: { eventNames: 'type' },
  gemini: { lineEnding: '\r\n' },
};

/** Recorded events: a text with one JSON event per line, or a list of lines. */
export type Recording = string | readonly string[];

/** Returns the lines of a recording that are not empty. */
export function recordingEvents(recording: Recording): readonly string[] {
  const lines = typeof recording === 'string' ? recording.split(/\r?\n/) : recording;
  return lines.filter((line) => line.trim() !== '');
}

/**
 * Encodes a recording as the bytes that its provider sent. The options override settings of the provider's
 * format.
 */
export function frameRecording(
  wire: WireName,
  recording: Recording,
  options: SseOptions = {},
): Uint8Array {
  return frameSse(recordingEvents(recording), { ...wireFraming[wire], ...options });
}
