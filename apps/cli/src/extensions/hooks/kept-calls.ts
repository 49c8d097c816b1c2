import { createHash } from 'node:crypto';
import type { CheckedToolCall } from '@millrace/agent';
import type { TextPart } from '@millrace/core';
import { type CallPlace, callKey } from '@millrace/tools';

/** Maximum number of calls whose hook decisions are kept. */
const maxKeptCalls = 1000;

/** Returns the key for the decision of hooks about a call. */
export function decisionKey(checked: CheckedToolCall, at: CallPlace): string {
  const { name, input } = checked;
  const text = JSON.stringify([callKey(checked, at), name, input]);
  return createHash('sha256').update(text).digest('base64');
}

/** Returns the key for the texts of hooks for a call. */
export function contextKey(session: string, toolCallId: string): string {
  return JSON.stringify([session, toolCallId]);
}

/** Adds a value to a map that keeps the newest values. */
export function keep<Value>(kept: Map<string, Value>, key: string, value: Value): void {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > maxKeptCalls && oldest !== undefined) kept.delete(oldest);
}

/** Keeps the texts of hooks for a call. */
export function keepTexts(
  kept: Map<string, readonly string[]>,
  key: string,
  texts: readonly string[],
): void {
  kept.delete(key);
  if (texts.length > 0) keep(kept, key, texts);
}

/** Returns the texts of hooks as a part of a message. */
export function contextPart(context: readonly string[]): TextPart {
  return { kind: 'text', text: hookText(context) };
}

/** Marks texts of hooks, so that the model can tell them from the user's words. */
export function hookText(texts: readonly string[]): string {
  return `<hook>\n${texts.join('\n\n')}\n</hook>`;
}
