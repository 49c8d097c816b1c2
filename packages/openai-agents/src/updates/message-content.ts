import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import type { ContentInput } from '@millrace/server';
import type { protocol } from '@openai/agents';
import { preservedPart } from '../response/preserved-part.ts';

/**
 * Converts a message of the model. If the request had a schema, the message becomes data. Otherwise it
 * becomes text.
 */
export function messageContent({ content }: protocol.AssistantMessageItem): ContentInput {
  const author = 'agent';
  const [first] = content;
  if (first?.type === 'image') return { type: 'data', author, data: { image: first.image } };
  if (first?.type === 'output_text' && preservedPart(first)?.kind === 'structured') {
    const parsed = parseJson(first.text);
    const value = parsed.ok ? parsed.value : first.text;
    return { type: 'data', author, data: isJsonObject(value) ? value : { value } };
  }
  return { type: 'text', author, content: content.map(textIn).join('') };
}

function textIn(content: protocol.AssistantMessageItem['content'][number]): string {
  if (content.type === 'output_text') return content.text;
  return content.type === 'refusal' ? content.refusal : '';
}

/**
 * Converts a call. If the arguments are not an object, they are wrapped in an object, because the format of
 * the server requires an object.
 */
export function callContent(call: protocol.ToolCallItem): ContentInput {
  const head = { type: 'tool_request', author: 'agent', tool_call_id: callIdOf(call) } as const;
  if (call.type === 'function_call' || call.type === 'hosted_tool_call')
    return { ...head, name: call.name, arguments: argumentsOf(call.arguments ?? '') };
  const { type, id, callId, status, providerData, ...rest } = { status: '', ...call };
  return { ...head, name: type.replace(/_call$/, ''), arguments: rest as unknown as JsonObject };
}

export function callIdOf(call: protocol.ToolCallItem): string {
  return ('callId' in call ? call.callId : call.id) ?? '';
}

function argumentsOf(text: string): JsonObject {
  const parsed = parseJson(text === '' ? '{}' : text);
  if (!parsed.ok) return { invalid_json: text };
  return isJsonObject(parsed.value) ? parsed.value : { value: parsed.value };
}

interface CallReference {
  readonly callId: string;
  readonly name: string;
}

/** Converts a result. The SDK stores an object as JSON text, so this function parses the text. */
export function resultContent({ callId, name }: CallReference, output: unknown): ContentInput {
  const head = { type: 'tool_response', author: 'agent', tool_call_id: callId, name } as const;
  return { ...head, content: toContent(output) };
}

function toContent(output: unknown): JsonValue {
  if (typeof output === 'string') return objectIn(output) ?? output;
  if (isText(output)) return toContent(output.text);
  if (Array.isArray(output) && output.length === 1) return toContent(output[0]);
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
