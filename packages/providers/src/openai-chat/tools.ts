import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import type { Message } from '../history/message.ts';
import type { ChatDialect } from './options.ts';

/** The tools of a request, and the tool choice. */
export function toolFields(
  { tools = [], toolChoice }: ModelRequest,
  messages: readonly Message[],
  dialect: ChatDialect,
): JsonObject {
  const hasCalls = messages.some(({ role }) => role === 'tool');
  if (tools.length === 0) return dialect.needsToolsWithCalls && hasCalls ? { tools: [] } : {};
  return {
    tools: tools.map((tool) => toolField(tool, dialect)),
    ...(toolChoice === undefined ? {} : { tool_choice: choiceField(toolChoice) }),
  };
}

function toolField(tool: ToolDefinition, dialect: ChatDialect): JsonObject {
  const { name, description, inputSchema, strict } = tool;
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: inputSchema,
      ...(strict === undefined || !dialect.strictTools ? {} : { strict }),
    },
  };
}

function choiceField(choice: ToolChoice): JsonObject | string {
  return typeof choice === 'string'
    ? choice
    : { type: 'function', function: { name: choice.name } };
}
