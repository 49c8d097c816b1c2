import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import { withSchemaInWords } from '../schema/schema-in-words.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { mergeHeaders, readHeaders, streamHeaders } from '../wire/api-options.ts';
import { withQuery } from '../wire/base-url.ts';
import { withProviderOptions } from '../wire/provider-options.ts';
import type { GoogleEndpoint } from './endpoint.ts';
import { messageFields } from './messages.ts';
import { generationOf, modelName } from './options.ts';
import { toolFields } from './tools.ts';

export function geminiRequest(request: ModelRequest, endpoint: GoogleEndpoint): HttpRequest {
  const url = `${endpoint.url()}:streamGenerateContent?alt=sse`;
  return requestTo(endpoint, url, bodyOf(request, endpoint));
}

/** A request with the key, the headers and the query of the caller. */
export function requestTo(endpoint: GoogleEndpoint, url: string, body: JsonObject): HttpRequest {
  const { keyHeader } = endpoint;
  const given = readHeaders(endpoint.headers);
  const key = keyHeader in given ? undefined : endpoint.key?.();
  return {
    url: withQuery(url, endpoint.query),
    headers: mergeHeaders(streamHeaders, { [keyHeader]: key }, given),
    body,
    secrets: key === undefined ? [] : [key],
  };
}

function bodyOf(given: ModelRequest, endpoint: GoogleEndpoint): JsonObject {
  const { model } = endpoint;
  const request = withPossibleOutput(given, endpoint);
  const config = generationConfig(model, request);
  const body: JsonObject = {
    ...messageFields(toMessages(request, endpoint), endpoint),
    ...toolFields(request, endpoint),
    ...(config === undefined ? {} : { generationConfig: config }),
  };
  return withProviderOptions(body, endpoint.provider, request);
}

/** Before generation 3, the API rejects a schema beside tools. An instruction describes it then. */
function withPossibleOutput(
  request: ModelRequest,
  { model, extraTools }: GoogleEndpoint,
): ModelRequest {
  const { output, ...rest } = request;
  const hasTools = (request.tools ?? []).length + extraTools.length > 0;
  if (output === undefined || !hasTools || generationOf(model) >= 3) return request;
  return withSchemaInWords(rest, output);
}

/** The `generationConfig`. Undefined if the request sets none of its fields. */
function generationConfig(model: string, request: ModelRequest): JsonObject | undefined {
  const { maxOutputTokens, temperature, topP, stopSequences, output, reasoning } = request;
  const { candidates } = request;
  const thinking = reasoning === undefined ? undefined : thinkingConfig(model, reasoning);
  const config: JsonObject = {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined ? {} : { stopSequences }),
    ...(candidates === undefined ? {} : { candidateCount: candidates }),
    ...logprobFields(request),
    ...(output === undefined
      ? {}
      : { responseMimeType: 'application/json', responseJsonSchema: output.schema }),
    ...(thinking === undefined ? {} : { thinkingConfig: thinking }),
  };
  return Object.keys(config).length === 0 ? undefined : config;
}

function logprobFields({ logprobs }: ModelRequest): JsonObject {
  if (logprobs === undefined) return {};
  return { responseLogprobs: true, ...(logprobs === 0 ? {} : { logprobs }) };
}

/**
 * The thinking config in the format of the model's generation. Undefined if thinking cannot be set.
 */
function thinkingConfig(model: string, effort: ReasoningEffort): JsonObject | undefined {
  const generation = generationOf(model);
  if (generation < 2.5) return undefined;
  const amount =
    generation < 3
      ? { thinkingBudget: budgetOf(model, effort) }
      : { thinkingLevel: levelOf(model, effort).toUpperCase() };
  return effort === 'none' ? amount : { ...amount, includeThoughts: true };
}

/** In tokens. 0 turns thinking off. Pro models cannot turn it off; their minimum is 128. */
function budgetOf(model: string, effort: ReasoningEffort): number {
  const isPro = modelName(model).includes('-pro');
  switch (effort) {
    case 'none':
      return isPro ? 128 : 0;
    case 'minimal':
      return 512;
    case 'low':
      return 2048;
    case 'medium':
      return 8192;
    case 'high':
      return 16_384;
    case 'max':
      return isPro ? 32_768 : 24_576;
  }
}

/** From generation 3 on, thinking cannot be turned off. The lowest level depends on the model. */
function levelOf(model: string, effort: ReasoningEffort): string {
  switch (effort) {
    case 'none':
    case 'minimal':
      return takesMinimal(model) ? 'minimal' : 'low';
    case 'medium':
      return takesMedium(model) ? effort : 'high';
    case 'low':
    case 'high':
      return effort;
    case 'max':
      return 'high';
  }
}

/** Gemini 3 Pro accepts only low and high. */
function takesMedium(model: string): boolean {
  return !/^gemini-3(?:\.0)?-pro\b/.test(modelName(model));
}

/** Flash up to 3.6, and Flash-Lite. Other models answer with an error. */
function takesMinimal(model: string): boolean {
  const [, version, isLite] = /^gemini-(\d+(?:\.\d+)?)-flash(-lite)?/.exec(modelName(model)) ?? [];
  return version !== undefined && (isLite !== undefined || Number(version) < 3.7);
}
