import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import type { Message } from '../history/message.ts';
import { enforcedSchema, openaiStrictRules } from '../schema/strict-schema.ts';
import type { ChatDialect } from './options.ts';

/** The tools of a request, and the tool choice. */
export function toolFields(
  { tools = [], toolChoice }: ModelRequest,
  messages: readonly Message[],
  dialect: ChatDialect,
  warnings: string[],
): JsonObject {
  const hasCalls = messages.some(({ role }) => role === 'tool');
  if (tools.length === 0) return dialect.needsToolsWithCalls && hasCalls ? { tools: [] } : {};
  return {
    tools: tools.map((tool) => toolField(tool, dialect, warnings)),
    ...(toolChoice === undefined ? {} : { tool_choice: choiceField(toolChoice) }),
  };
}

function toolField(tool: ToolDefinition, dialect: ChatDialect, warnings: string[]): JsonObject {
  const { name, description, inputSchema, strict } = tool;
  const sent =
    strict && dialect.strictTools
      ? enforcedSchema({ name, schema: inputSchema }, openaiStrictRules, warnings)
      : { schema: inputSchema, strict };
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: sent.schema,
      ...(sent.strict === undefined || !dialect.strictTools ? {} : { strict: sent.strict }),
    },
  };
}

function choiceField(choice: ToolChoice): JsonObject | string {
  return typeof choice === 'string'
    ? choice
    : { type: 'function', function: { name: choice.name } };
}
