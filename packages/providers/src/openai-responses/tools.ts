import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import { textIn } from '../json/fields.ts';
import { enforcedSchema, openaiStrictRules } from '../schema/strict-schema.ts';
import { withToolOptions } from '../wire/provider-options.ts';
import { builtInToolType } from './built-ins/built-in-calls.ts';
import type { ResponsesDialect, ResponsesOptions } from './options.ts';

/** Returns the body fields for the tools of the request and for tools in the format of the API. */
export function toolFields(
  { tools = [], toolChoice }: ModelRequest,
  { extraTools = [], parallelToolCalls }: ResponsesOptions,
  { id, builtInTools }: Pick<ResponsesDialect, 'id' | 'builtInTools'>,
  warnings: string[],
): JsonObject {
  const extraNames = new Set(extraTools.map((tool) => textIn(tool, 'name')));
  const extraTypes = new Set(extraTools.map((tool) => textIn(tool, 'type')));
  const declared = tools.flatMap((tool) => {
    const { name, answers } = tool;
    if (extraNames.has(name)) return [];
    const type = builtInTools && answers !== undefined ? builtInToolType(answers) : undefined;
    if (type === undefined) return [{ name, field: functionTool(tool, warnings, id) }];
    return extraTypes.has(type) ? [] : [{ name, field: builtInTool(tool, type, id) }];
  });
  const all = [...declared.map(({ field }) => field), ...extraTools];
  if (all.length === 0) return {};
  const byName = new Map(declared.map(({ name, field }) => [name, field]));
  return {
    tools: all,
    ...(toolChoice === undefined
      ? {}
      : { tool_choice: choiceField(toolChoice, byName, extraTools) }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

/**
 * Converts a tool whose format the provider defines. Only the search tool has a description and a schema. The
 * shell tool can also run on the provider's machines.
 */
function builtInTool(tool: ToolDefinition, type: string, provider: string): JsonObject {
  const { description, inputSchema: parameters } = tool;
  const search = { execution: 'client', ...(description && { description }), parameters };
  const field = {
    type,
    ...(type === 'tool_search' ? search : {}),
    ...(type === 'shell' ? { environment: { type: 'local' } } : {}),
  };
  return withToolOptions(field, tool, provider);
}

/**
 * Converts a tool to a function of the API. `strict` is always sent. Its default in the API is true, and the
 * API would then reject schemas that are not strict.
 */
export function functionTool(
  tool: ToolDefinition,
  warnings: string[],
  provider?: string,
): JsonObject {
  const { name, description, inputSchema, strict = false } = tool;
  const sent = strict
    ? enforcedSchema({ name, schema: inputSchema }, openaiStrictRules, warnings)
    : { schema: inputSchema, strict };
  const field = {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    parameters: sent.schema,
    strict: sent.strict,
  };
  return provider === undefined ? field : withToolOptions(field, tool, provider);
}

function choiceField(
  choice: ToolChoice,
  declared: ReadonlyMap<string, JsonObject>,
  extraTools: readonly JsonObject[],
): JsonObject | string {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  const named = extraTools.find((tool) => textIn(tool, 'name') === name) ?? declared.get(name);
  // If a tool has no name, its type identifies it in the tool choice.
  const type = textIn(named, 'type');
  if (type !== undefined) return textIn(named, 'name') === undefined ? { type } : { type, name };
  const isHosted = extraTools.some((tool) => textIn(tool, 'type') === name);
  return isHosted ? { type: name } : { type: 'function', name };
}
