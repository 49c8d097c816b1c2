import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';

/** `tools` and `toolConfig`. Empty without tools. */
export function toolFields(request: ModelRequest, streamsArguments: boolean): JsonObject {
  const { tools = [], toolChoice } = request;
  if (tools.length === 0) return {};
  const isStrict = tools.some(({ strict }) => strict);
  const config: JsonObject = {
    ...(toolChoice === undefined && !isStrict ? {} : modeOf(toolChoice ?? 'auto', isStrict)),
    ...(streamsArguments ? { streamFunctionCallArguments: true } : {}),
  };
  return {
    tools: [{ functionDeclarations: tools.map(declaration) }],
    ...(Object.keys(config).length === 0 ? {} : { toolConfig: { functionCallingConfig: config } }),
  };
}

function declaration({ name, description, inputSchema }: ToolDefinition): JsonObject {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    parametersJsonSchema: inputSchema,
  };
}

/** Gemini has no strict tools, but a mode in which all calls must match their schemas. */
function modeOf(choice: ToolChoice, isStrict: boolean): JsonObject {
  switch (choice) {
    case 'auto':
      return { mode: isStrict ? 'VALIDATED' : 'AUTO' };
    case 'none':
      return { mode: 'NONE' };
    case 'required':
      return { mode: 'ANY' };
    default:
      return { mode: 'ANY', allowedFunctionNames: [choice.name] };
  }
}
