import type { JsonValue } from '../json/json-value.ts';

/** The chunks of the AI SDK's UI message stream, version 1, that Millrace sends. */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: TextType<'start'>; readonly id: string }
  | { readonly type: TextType<'delta'>; readonly id: string; readonly delta: string }
  | { readonly type: TextType<'end'>; readonly id: string }
  | ToolChunk
  | {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string }
  | {
      readonly type: `data-${string}`;
      readonly id?: string;
      readonly data: JsonValue;
      /** If true, the client passes the chunk to listeners but does not store it in the message. */
      readonly transient?: true;
    }
  | {
      readonly type: 'steering-message';
      readonly id: string;
      readonly parts: readonly { readonly type: 'text'; readonly text: string }[];
    }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'finish'; readonly finishReason: FinishReason };

type TextType<Word extends string> = `text-${Word}` | `reasoning-${Word}`;

/** The reason why a message ended, with the names of the AI SDK. */
export type FinishReason =
  | 'stop'
  | 'length'
  | 'content-filter'
  | 'tool-calls'
  | 'error'
  | 'interrupted'
  | 'other';

type ToolChunk = { readonly toolCallId: string } & (
  | { readonly type: 'tool-input-start'; readonly toolName: string }
  | { readonly type: 'tool-input-delta'; readonly inputTextDelta: string }
  | { readonly type: 'tool-input-available'; readonly toolName: string; readonly input: JsonValue }
  | {
      readonly type: 'tool-input-error';
      readonly toolName: string;
      readonly input: JsonValue;
      readonly errorText: string;
    }
  | { readonly type: 'tool-output-available'; readonly output: JsonValue }
  | { readonly type: 'tool-output-error'; readonly errorText: string }
  | { readonly type: 'tool-output-denied' }
  | {
      readonly type: 'tool-approval-request';
      readonly approvalId: string;
      readonly reason?: string;
    }
);

/** The headers that identify the protocol. The last header disables buffering in proxies. */
export const uiHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
} as const;

/** The data of the last SSE frame. A response contains one message, so the stream ends with it. */
export const uiDone = '[DONE]';

// The SDK rejects a whole stream if one of these keys appears anywhere in it.
const blockedKeyPattern = /"(?:__proto__|constructor)":/;

/** Encodes a chunk without the keys that the SDK rejects. */
export function encodeChunk(chunk: UiChunk): string {
  return encodeWithoutBlockedKeys(chunk);
}

/** Encodes a value without the keys that the SDK rejects. */
export function encodeWithoutBlockedKeys(given: object): string {
  const line = JSON.stringify(given);
  if (!blockedKeyPattern.test(line)) return line;
  return JSON.stringify(given, (_key, value: unknown) => withoutBlockedKeys(value));
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
