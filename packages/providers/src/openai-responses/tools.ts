import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import { textIn } from '../json/fields.ts';
import type { ResponsesOptions } from './options.ts';

/** The tools of the request, and tools in the format of the API. */
export function toolFields(
  { tools = [], toolChoice }: ModelRequest,
  { extraTools = [], parallelToolCalls }: ResponsesOptions,
): JsonObject {
  const replaced = new Set(extraTools.map((tool) => textIn(tool, 'name')));
  const functions = tools.filter(({ name }) => !replaced.has(name)).map(functionTool);
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
function functionTool({
  name,
  description,
  inputSchema,
  strict = false,
}: ToolDefinition): JsonObject {
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    parameters: inputSchema,
    strict,
  };
}

function choiceField(choice: ToolChoice, extraTools: readonly JsonObject[]): JsonObject | string {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  const extra = extraTools.find((tool) => textIn(tool, 'name') === name);
  return { type: textIn(extra, 'type') ?? 'function', name };
}
