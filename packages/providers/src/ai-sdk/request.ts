import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import { fault, WireFault } from '../errors/wire-fault.ts';
import type { Owner } from '../history/own-parts.ts';
import { isObject } from '../json/fields.ts';
import { checkJson } from '../wire/check-json.ts';
import { checkRequest } from '../wire/check-request.ts';
import { type GivenHeaders, mergeHeaders, readHeaders } from '../wire/merge-headers.ts';
import type { ProviderTool } from './model.ts';
import { promptOf } from './prompt.ts';

/** What every call of a model is given besides the request. */
export interface CallExtras {
  readonly headers?: GivenHeaders | undefined;
  readonly providerTools?: readonly ProviderTool[] | undefined;
}

/** Where the SDK takes a JSON Schema. */
type Schema = LanguageModelV4FunctionTool['inputSchema'];

/** The request in the words of the SDK, of its newest version. Throws a `WireFault` where it has none. */
export function callOptions(
  request: ModelRequest,
  owner: Owner,
  extras: CallExtras,
): LanguageModelV4CallOptions {
  checkRequest(request);
  try {
    return optionsOf(request, owner, extras);
  } catch (error) {
    throw error instanceof WireFault ? error : unwritable(error);
  }
}

function unwritable(cause: unknown): WireFault {
  const complaint = { message: 'the request cannot be written', words: [] };
  return new WireFault(complaint, 'invalid_request', { cause });
}

function optionsOf(
  request: ModelRequest,
  owner: Owner,
  extras: CallExtras,
): LanguageModelV4CallOptions {
  const { maxOutputTokens, temperature, topP, stopSequences, reasoning, output } = request;
  return {
    prompt: promptOf(request, owner),
    ...toolOptions(request, extras),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(output === undefined ? {} : { responseFormat: jsonFormat(output) }),
    ...(request.providerOptions === undefined ? {} : grouped(request.providerOptions)),
    ...(extras.headers === undefined ? {} : { headers: mergeHeaders(readHeaders(extras.headers)) }),
  };
}

type ToolOptions = Pick<LanguageModelV4CallOptions, 'tools' | 'toolChoice'>;

function toolOptions({ tools = [], toolChoice }: ModelRequest, extras: CallExtras): ToolOptions {
  checkJson(extras.providerTools, 'providerTools');
  const hosted =
    extras.providerTools?.map((tool) => ({ type: 'provider', ...tool }) as const) ?? [];
  if (tools.length + hosted.length === 0) return {};
  return {
    tools: [...tools.map(functionTool), ...hosted],
    ...(toolChoice === undefined ? {} : { toolChoice: choiceOf(toolChoice) }),
  };
}

function functionTool(tool: ToolDefinition): LanguageModelV4FunctionTool {
  const { name, description, inputSchema, strict } = tool;
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: inputSchema as Schema,
    ...(strict === undefined ? {} : { strict }),
  };
}

function choiceOf(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name };
}

function jsonFormat({ name, schema }: NonNullable<ModelRequest['output']>) {
  return { type: 'json', name, schema: schema as Schema } as const;
}

function grouped(options: JsonObject): Pick<LanguageModelV4CallOptions, 'providerOptions'> {
  const groups = Object.entries(options).map(([key, group]) => {
    if (isObject(group)) return [key, group] as const;
    const way = `put it under the provider's name, as in { anthropic: { ${key}: … } }`;
    throw fault('invalid_request', `providerOptions.${key} is no object; ${way}`);
  });
  return { providerOptions: Object.fromEntries(groups) };
}
