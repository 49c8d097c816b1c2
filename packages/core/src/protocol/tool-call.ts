import type { ToolCallId } from '../ids.ts';
import type { JsonLimits, JsonValue } from '../json/json-value.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Part, ToolCallPart } from './part.ts';

/** A tool call made from a value, for instance in a history that the caller wrote. */
export function toolCallPart(toolCallId: ToolCallId, name: string, input: JsonValue): ToolCallPart {
  return withInput({ kind: 'tool_call', toolCallId, name, arguments: JSON.stringify(input) });
}

/**
 * The part with the value of its arguments, where they have one: the empty text means `{}`, as
 * providers send it for tools without parameters; a call that was cut off has none.
 */
export function withInput(part: ToolCallPart, limits?: JsonLimits): ToolCallPart {
  const { input: _derived, ...rest } = part;
  if (part.partial) return rest;
  const parsed = parseJson(part.arguments === '' ? '{}' : part.arguments, limits);
  return parsed.ok ? { ...rest, input: parsed.value } : rest;
}

/** Any part, with what is derived of it. The fold puts every part through here, so that what one says of itself never counts. */
export function withDerived(part: Part): Part {
  return part.kind === 'tool_call' ? withInput(part) : part;
}
