import { type JsonValue, parseJson } from '@millrace/core';
import type { ContentInput } from '@millrace/server';
import type { protocol } from '@openai/agents';

export interface ResultOf {
  readonly callId: string;
  readonly name: string;
}

/** A result as a message. What a tool gave as an object, the SDK has as its JSON: it is an object again. */
export function resultContent({ callId, name }: ResultOf, output: unknown): ContentInput {
  const head = { type: 'tool_response', author: 'agent', tool_call_id: callId, name } as const;
  return { ...head, content: shown(output) };
}

function shown(output: unknown): JsonValue {
  if (typeof output === 'string') return objectIn(output) ?? output;
  if (isText(output)) return shown(output.text);
  if (Array.isArray(output) && output.length === 1) return shown(output[0]);
  return (output ?? null) as JsonValue;
}

function objectIn(text: string): JsonValue | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
}

function isText(output: unknown): output is { readonly text: string } {
  return typeof output === 'object' && output !== null && 'text' in output;
}

type Output =
  | protocol.FunctionCallResultItem
  | protocol.ComputerCallResultItem
  | protocol.ShellCallResultItem
  | protocol.ApplyPatchCallResultItem;

export function outputContent(item: Output): ContentInput {
  const name = 'name' in item ? item.name : item.type.replace(/_call.*$/, '');
  return resultContent({ callId: item.callId, name }, item.output);
}
