import type { Delta, Item, ToolCallPart } from '@millrace/core';

/** What is in an item, as those who check it want it. */
export function textOf({ parts }: Item): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

export function reasoningOf({ parts }: Item): string {
  return parts.map((part) => (part.kind === 'reasoning' ? part.text : '')).join('');
}

export function callsOf({ parts }: Item): readonly ToolCallPart[] {
  return parts.flatMap((part) => (part.kind === 'tool_call' ? part : []));
}

export function appendedBy(deltas: readonly Delta[]): string {
  return deltas.map((delta) => (delta.type === 'append_text' ? delta.chunk : '')).join('');
}
