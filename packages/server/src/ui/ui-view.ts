import type { Frame, FrameView } from '../contract/stream.ts';
import { recordChunks, restateMessage } from './record-chunks.ts';
import type { UiChunk } from './ui-chunk.ts';

/** The headers that identify the protocol. The last one disables buffering in proxies. */
export const uiHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
} as const;

/** The last frame of a message. A response contains one message, so the stream ends here. */
export const uiDone = '[DONE]';

/** Shows the log as the AI SDK's UI message stream, version 1. */
export const uiView: FrameView = {
  name: 'ui',
  frames: (before, record, after) => {
    const chunks = recordChunks(before, record, after).map(encodeChunk);
    const isEnd = record.fact?.type === 'run_finished' && chunks.length > 0;
    return toFrames(record.offset, isEnd ? [...chunks, uiDone] : chunks);
  },
  restate: (state) => restateMessage(state).map((chunk) => ({ data: encodeChunk(chunk) })),
};

/**
 * The last frame of a record has the record's offset as id. A client with this id has the whole
 * record.
 */
function toFrames(offset: number, lines: readonly string[]): readonly Frame[] {
  const last = lines.length - 1;
  return lines.map((data, k) => ({ id: k === last ? `${offset}` : `${offset}.${k}`, data }));
}

// The SDK rejects a whole stream if one of these keys appears anywhere in it.
const blockedKeyPattern = /"(?:__proto__|constructor)":/;

/** Encodes a chunk without the keys that the SDK rejects. */
export function encodeChunk(chunk: UiChunk): string {
  const line = JSON.stringify(chunk);
  if (!blockedKeyPattern.test(line)) return line;
  return JSON.stringify(chunk, (_key, value: unknown) => withoutBlockedKeys(value));
}

function withoutBlockedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const allowed = Object.entries(value).filter(([key, inner]) => !isBlockedKey(key, inner));
  return Object.fromEntries(allowed);
}

function isBlockedKey(key: string, value: unknown): boolean {
  if (key === '__proto__') return true;
  const isObject = typeof value === 'object' && value !== null;
  return key === 'constructor' && isObject && Object.hasOwn(value, 'prototype');
}
