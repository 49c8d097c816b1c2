import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import { withToolOptions } from '../wire/provider-options.ts';
import type { GoogleEndpoint } from './endpoint.ts';

/** Returns the fields `tools` and `toolConfig`. Returns no fields if there are no tools. */
export function toolFields(request: ModelRequest, endpoint: GoogleEndpoint): JsonObject {
  const { tools = [], toolChoice } = request;
  const { provider, extraTools, streamsArguments } = endpoint;
  if (tools.length === 0) return extraTools.length === 0 ? {} : { tools: extraTools };
  if (extraTools.length > 0) checkBothKinds(endpoint);
  const isStrict = tools.some(({ strict }) => strict);
  const config: JsonObject = {
    ...(toolChoice === undefined && !isStrict ? {} : modeOf(toolChoice ?? 'auto', isStrict)),
    ...(streamsArguments ? { streamFunctionCallArguments: true } : {}),
  };
  const toolConfig: JsonObject = {
    ...(Object.keys(config).length === 0 ? {} : { functionCallingConfig: config }),
    // The next request must contain the calls and results of Google's tools and of the client's tools.
    ...(extraTools.length > 0 && endpoint.asksForHostedCalls
      ? { includeServerSideToolInvocations: true }
      : {}),
  };
  const functionDeclarations = tools.map((tool) => declaration(tool, provider));
  return {
    tools: [{ functionDeclarations }, ...extraTools],
    ...(Object.keys(toolConfig).length === 0 ? {} : { toolConfig }),
  };
}

function checkBothKinds({ model, info }: GoogleEndpoint): void {
  if (info.outputWithTools !== false) return;
  const way = 'leave out extraTools or the tools, or use a model of generation 3';
  throw fault('invalid_request', `${model} accepts no hosted tools beside functions; ${way}`);
}

function declaration(tool: ToolDefinition, provider: string): JsonObject {
  const { name, description, inputSchema } = tool;
  const field = {
    name,
    ...(description === undefined ? {} : { description }),
    parametersJsonSchema: inputSchema,
  };
  return withToolOptions(field, tool, provider);
}

/**
 * Returns the calling mode for a tool choice. Gemini has no strict tools, but it has a mode in which all
 * calls must match their schemas.
 */
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
