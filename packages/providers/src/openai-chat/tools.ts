import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import type { Message } from '../history/message.ts';
import { objectIn, textIn } from '../json/fields.ts';
import { enforcedSchema, openaiStrictRules } from '../schema/strict-schema.ts';
import { withToolOptions } from '../wire/provider-options.ts';
import type { ChatDialect } from './options.ts';

/** Returns the body fields for the tools and the tool choice of a request. */
export function toolFields(
  { tools = [], toolChoice }: ModelRequest,
  messages: readonly Message[],
  { dialect, extraTools }: ToolFieldOptions,
  warnings: string[],
): JsonObject {
  const hasCalls = messages.some(({ role }) => role === 'tool');
  const customNames = new Set(
    extraTools.flatMap((tool) => textIn(objectIn(tool, 'custom'), 'name') ?? []),
  );
  const functions = tools.filter(({ name }) => !customNames.has(name));
  const all = [...functions.map((tool) => toolField(tool, dialect, warnings)), ...extraTools];
  if (all.length === 0) return dialect.needsToolsWithCalls && hasCalls ? { tools: [] } : {};
  return {
    tools: all,
    ...(toolChoice === undefined ? {} : { tool_choice: choiceField(toolChoice, customNames) }),
  };
}

interface ToolFieldOptions {
  readonly dialect: ChatDialect;
  /** Tools in the format of the API. */
  readonly extraTools: readonly JsonObject[];
}

function toolField(tool: ToolDefinition, dialect: ChatDialect, warnings: string[]): JsonObject {
  const { name, description, inputSchema, strict } = tool;
  const sent =
    strict && dialect.strictTools
      ? enforcedSchema({ name, schema: inputSchema }, openaiStrictRules, warnings)
      : { schema: inputSchema, strict };
  const field = {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: sent.schema,
      ...(sent.strict === undefined || !dialect.strictTools ? {} : { strict: sent.strict }),
    },
  };
  return withToolOptions(field, tool, dialect.id);
}

function choiceField(choice: ToolChoice, customNames: ReadonlySet<string>): JsonObject | string {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  return customNames.has(name)
    ? { type: 'custom', custom: { name } }
    : { type: 'function', function: { name } };
}
