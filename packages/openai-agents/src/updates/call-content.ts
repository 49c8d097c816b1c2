import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import type { ContentInput } from '@millrace/server';
import type { protocol } from '@openai/agents';

/** A call as a message. Arguments that are no object have a name, because the wire takes objects only. */
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
  return isObject(parsed.value) ? parsed.value : { value: parsed.value };
}

export function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
