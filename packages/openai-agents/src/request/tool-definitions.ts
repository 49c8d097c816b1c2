import type { JsonObject } from '@millrace/core';
import type { ToolDefinition } from '@millrace/providers';
import { type ModelRequest, UserError } from '@openai/agents';

/** The tools and the hand-offs, which are tools to a model. */
export function toolDefinitions({
  tools,
  handoffs,
}: Pick<ModelRequest, 'tools' | 'handoffs'>): readonly ToolDefinition[] {
  return [
    ...tools.map((tool): ToolDefinition => {
      if (tool.type !== 'function') throw hosted(tool.type, tool.name);
      const { name, description, parameters, strict } = tool;
      return { name, description, inputSchema: objectSchema(parameters), strict };
    }),
    ...handoffs.map(({ toolName, toolDescription, inputJsonSchema, strictJsonSchema }) => ({
      ...{ name: toolName, description: toolDescription, strict: strictJsonSchema },
      inputSchema: objectSchema(inputJsonSchema),
    })),
  ];
}

/** A tool without input may come without a schema. */
function objectSchema(given: object): JsonObject {
  const none = { type: 'object', properties: {}, required: [], additionalProperties: false };
  return 'type' in given ? (given as JsonObject) : none;
}

function hosted(type: string, name: string): UserError {
  return new UserError(
    `Cannot offer tool “${name}” of type ${type} to a Millrace provider: only function tools are the same everywhere. ` +
      'Give what the provider itself hosts in modelSettings.providerData, as its API has it',
  );
}
