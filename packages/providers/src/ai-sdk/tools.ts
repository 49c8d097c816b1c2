import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import { json } from '../wire/check-shape.ts';
import type { CallExtras } from './options.ts';

type ProviderOptions = NonNullable<LanguageModelV4FunctionTool['providerOptions']>;

/** The type that the SDK uses for a JSON Schema. */
export type Schema = LanguageModelV4FunctionTool['inputSchema'];

type ToolOptions = Pick<LanguageModelV4CallOptions, 'tools' | 'toolChoice'>;

/** Returns the call options for the request's tools, for the provider's own tools and for the tool choice. */
export function toolOptions(
  { tools = [], toolChoice }: ModelRequest,
  extras: CallExtras,
): ToolOptions {
  json(extras.providerTools ?? [], 'providerTools');
  const hosted =
    extras.providerTools?.map((tool) => ({ type: 'provider', ...tool }) as const) ?? [];
  if (tools.length + hosted.length === 0) return {};
  return {
    tools: [...tools.map(functionTool), ...hosted],
    ...(toolChoice === undefined ? {} : { toolChoice: choiceOf(toolChoice) }),
  };
}

function functionTool(tool: ToolDefinition): LanguageModelV4FunctionTool {
  const { name, description, inputSchema, strict, providerOptions } = tool;
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: inputSchema as Schema,
    ...(strict === undefined ? {} : { strict }),
    ...(providerOptions === undefined
      ? {}
      : { providerOptions: providerOptions as ProviderOptions }),
  };
}

function choiceOf(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name };
}
