import type { WireName } from '../answers/wire-answer.ts';
import { frameSse, type SseOptions } from './sse-frames.ts';

/** How each provider frames its events. */
export const wireFraming: Readonly<Record<WireName, SseOptions>> = {
  'openai-chat': { done: true },
  'openai-responses': { eventNames: 'type' },
  anthropic: { eventNames: 'type' },
  gemini: { lineEnding: '\r\n' },
};

/** A text of one JSON event a line, or its lines. */
export type Recording = string | readonly string[];

export function recordingEvents(recording: Recording): readonly string[] {
  const lines = typeof recording === 'string' ? recording.split(/\r?\n/) : recording;
  return lines.filter((line) => line.trim() !== '');
}

/** A recording as the bytes that its provider sent, or what the options make of them. */
export function frameRecording(
  wire: WireName,
  recording: Recording,
  options: SseOptions = {},
): Uint8Array {
  return frameSse(recordingEvents(recording), { ...wireFraming[wire], ...options });
}
