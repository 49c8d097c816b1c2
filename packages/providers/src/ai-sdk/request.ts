import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isJsonObject, type JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { fault, faultBy, WireFault } from '../errors/wire-fault.ts';
import { mergeHeaders, readHeaders } from '../wire/api-options.ts';
import { checkRequest, refuseUnsupported } from '../wire/check-request.ts';
import { promptOf } from './messages.ts';
import type { CallExtras } from './options.ts';
import type { SessionOwner } from './part-state.ts';
import { type Schema, toolOptions } from './tools.ts';

/**
 * Converts a request to call options, in the newest version of the SDK's format. Throws a `WireFault` if the
 * SDK cannot express the request.
 */
export function callOptions(
  request: ModelRequest,
  owner: SessionOwner,
  extras: CallExtras,
): LanguageModelV4CallOptions {
  checkRequest(request);
  refuseUnsupported(request, 'the AI SDK', ['candidates', 'logprobs']);
  try {
    return optionsOf(request, owner, extras);
  } catch (error) {
    throw error instanceof WireFault
      ? error
      : faultBy(error, 'invalid_request', 'the request cannot be written');
  }
}

function optionsOf(
  request: ModelRequest,
  owner: SessionOwner,
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
    ...providerOptions(request),
    ...(extras.headers === undefined ? {} : { headers: mergeHeaders(readHeaders(extras.headers)) }),
  };
}

function jsonFormat({ name, schema }: NonNullable<ModelRequest['output']>) {
  return { type: 'json', name, schema: schema as Schema } as const;
}

/** Returns the caller's provider options. For OpenAI's models, it adds the cache key. */
function providerOptions({
  providerOptions: options,
  cache,
}: ModelRequest): Pick<LanguageModelV4CallOptions, 'providerOptions'> {
  const key = cache?.key ? { promptCacheKey: cache.key } : undefined;
  if (options === undefined && key === undefined) return {};
  const groups = Object.entries(options ?? {}).map(([name, group]) => {
    if (isJsonObject(group)) return [name, group] as const;
    const way = `put it under the provider's name, as in { anthropic: { ${name}: … } }`;
    throw fault('invalid_request', `providerOptions.${name} is not an object; ${way}`);
  });
  const given: Record<string, JsonObject> = Object.fromEntries(groups);
  const openai = key && { openai: { ...key, ...given['openai'] } };
  return { providerOptions: { ...given, ...openai } };
}
