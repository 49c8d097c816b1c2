import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import { textIn } from '../json/fields.ts';
import { enforcedSchema, openaiStrictRules } from '../schema/strict-schema.ts';
import type { ResponsesOptions } from './options.ts';

/** The tools of the request, and tools in the format of the API. */
export function toolFields(
  { tools = [], toolChoice }: ModelRequest,
  { extraTools = [], parallelToolCalls }: ResponsesOptions,
  warnings: string[],
): JsonObject {
  const replaced = new Set(extraTools.map((tool) => textIn(tool, 'name')));
  const functions = tools
    .filter(({ name }) => !replaced.has(name))
    .map((tool) => functionTool(tool, warnings));
  const all = [...functions, ...extraTools];
  if (all.length === 0) return {};
  return {
    tools: all,
    ...(toolChoice === undefined ? {} : { tool_choice: choiceField(toolChoice, extraTools) }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

/**
 * `strict` is always sent. The API's default is true, and it then rejects schemas that are not
 * strict.
 */
function functionTool(
  { name, description, inputSchema, strict = false }: ToolDefinition,
  warnings: string[],
): JsonObject {
  const sent = strict
    ? enforcedSchema({ name, schema: inputSchema }, openaiStrictRules, warnings)
    : { schema: inputSchema, strict };
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    parameters: sent.schema,
    strict: sent.strict,
  };
}

function choiceField(choice: ToolChoice, extraTools: readonly JsonObject[]): JsonObject | string {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  const named = extraTools.find((tool) => textIn(tool, 'name') === name);
  if (named !== undefined) return { type: textIn(named, 'type') ?? 'function', name };
  // A hosted tool has no name: its type is chosen.
  const isHosted = extraTools.some((tool) => textIn(tool, 'type') === name);
  return isHosted ? { type: name } : { type: 'function', name };
}
