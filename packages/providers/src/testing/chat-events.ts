import type { JsonObject } from '@millrace/core';

// This file creates minimal events of a Chat Completions stream.

function choice(delta: JsonObject, finishReason: string | null = null): string {
  return JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

export function textEvent(content: string): string {
  return choice({ content });
}

/** Returns a fragment of the only tool call. The first fragment has the name. */
export function toolCallEvent(argumentsPiece: string, name?: string): string {
  const first = name === undefined ? {} : { id: 'call_1', type: 'function' };
  const named = name === undefined ? {} : { name };
  const call = { index: 0, ...first, function: { ...named, arguments: argumentsPiece } };
  return choice({ tool_calls: [call] });
}

export function finishEvent(reason = 'stop'): string {
  return choice({}, reason);
}

/** The usage chunk, which follows the last choice. */
export const usageEvent: string = JSON.stringify({
  choices: [],
  usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
});

/** Returns a complete answer of a server that does not stream. */
export function completion(content: string): JsonObject {
  return {
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  };
}

/** Formats events as server-sent events. */
export function sseText(...events: readonly string[]): string {
  return events.map((event) => `data: ${event}\n\n`).join('');
}
