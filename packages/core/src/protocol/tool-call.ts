import type { SessionId, ToolCallId } from '../ids.ts';
import type { JsonLimits, JsonValue } from '../json/json-value.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Part, ToolCallPart } from './part.ts';

/** Creates a tool call part from an input value, for example for a history that your program wrote. */
export function toolCallPart(toolCallId: ToolCallId, name: string, input: JsonValue): ToolCallPart {
  return withInput({ kind: 'tool_call', toolCallId, name, arguments: JSON.stringify(input) });
}

/**
 * Returns the tool call with its parsed arguments as `input`. The result has no `input` if the call is
 * incomplete or the text is not JSON. An empty text means `{}`, because providers send an empty text for
 * tools without parameters.
 */
export function withInput(part: ToolCallPart, limits?: JsonLimits): ToolCallPart {
  const { input: _derived, ...rest } = part;
  if (part.partial) return rest;
  const parsed = parseJson(part.arguments === '' ? '{}' : part.arguments, limits);
  return parsed.ok ? { ...rest, input: parsed.value } : rest;
}

/**
 * Adds the derived fields to any part. The fold uses this function for every part, and ignores derived fields
 * in records.
 */
export function withDerived(part: Part): Part {
  return part.kind === 'tool_call' ? withInput(part) : part;
}

/** The fields of `tool_execution_started` that link a call to the session of its sub-agent. */
interface ChildLink {
  readonly child?: SessionId | undefined;
  readonly parent?: SessionId | undefined;
}

/**
 * Returns the session of the sub-agent that an execution runs, if `session` started this sub-agent. A fork copies
 * the records of its original, so it contains links to sub-agents that belong to the original. Programs must not
 * read, continue or stop a sub-agent through such a copy.
 */
export function ownChild(link: ChildLink | undefined, session: SessionId): SessionId | undefined {
  return link?.parent === session ? link.child : undefined;
}
