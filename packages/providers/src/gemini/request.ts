import type { JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import { effortFor, sentSampling } from '../models/effort.ts';
import { withSchemaInWords } from '../schema/schema-in-words.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { mergeHeaders, readHeaders, streamHeaders } from '../wire/api-options.ts';
import { withQuery } from '../wire/base-url.ts';
import { withProviderOptions } from '../wire/provider-options.ts';
import type { GoogleEndpoint } from './endpoint.ts';
import { messageFields } from './messages.ts';
import { toolFields } from './tools.ts';

export function geminiRequest(request: ModelRequest, endpoint: GoogleEndpoint): HttpRequest {
  const url = `${endpoint.url()}:streamGenerateContent?alt=sse`;
  const warnings: string[] = [];
  return { ...requestTo(endpoint, url, bodyOf(request, endpoint, warnings)), warnings };
}

/** Creates an HTTP request with the caller's key, headers and query. */
export function requestTo(
  endpoint: Pick<GoogleEndpoint, 'keyHeader' | 'key' | 'headers' | 'query'>,
  url: string,
  body: JsonObject,
): HttpRequest {
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

function bodyOf(given: ModelRequest, endpoint: GoogleEndpoint, warnings: string[]): JsonObject {
  const request = withPossibleOutput(given, endpoint);
  const config = generationConfig(endpoint, request, warnings);
  const body: JsonObject = {
    ...messageFields(toMessages(request, endpoint), endpoint),
    ...toolFields(request, endpoint),
    ...(config === undefined ? {} : { generationConfig: config }),
  };
  return withProviderOptions(body, endpoint.provider, request);
}

/**
 * Returns a request that the model accepts. If the model does not accept a schema together with tools, an
 * instruction describes the schema instead.
 */
function withPossibleOutput(
  request: ModelRequest,
  { info, extraTools }: GoogleEndpoint,
): ModelRequest {
  const { output, ...rest } = request;
  const hasTools = (request.tools ?? []).length + extraTools.length > 0;
  if (output === undefined || !hasTools || info.outputWithTools) return request;
  return withSchemaInWords(rest, output);
}

/** Returns the `generationConfig`, or undefined if the request sets no field of it. */
function generationConfig(
  { info, model }: GoogleEndpoint,
  request: ModelRequest,
  warnings: string[],
): JsonObject | undefined {
  const { maxOutputTokens, stopSequences, output, reasoning, candidates } = request;
  const { temperature, topP } = sentSampling(request, { model, info, warnings });
  const thinking = reasoning === undefined ? undefined : thinkingConfig(info, reasoning);
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
 * Returns the thinking config in the form that the model accepts. Returns undefined if the model has no
 * setting for thinking.
 */
function thinkingConfig(info: ModelInfo, effort: ReasoningEffort): JsonObject | undefined {
  const { thinking, efforts = [], thinkingBudget = defaultBudget } = info;
  const level = effortFor(effort, efforts);
  if (thinking === undefined || level === undefined) return undefined;
  const amount =
    thinking === 'budget'
      ? { thinkingBudget: budgetOf(effort, thinkingBudget) }
      : { thinkingLevel: level.toUpperCase() };
  return effort === 'none' ? amount : { ...amount, includeThoughts: true };
}

const defaultBudget = [0, 24_576] as const;

const budgets = { none: 0, minimal: 512, low: 2048, medium: 8192, high: 16_384 } as const;

/** Returns the thinking budget in tokens. 0 turns thinking off, if the model allows this. */
function budgetOf(effort: ReasoningEffort, [min, max]: readonly [number, number]): number {
  return effort === 'max' ? max : Math.min(Math.max(budgets[effort], min), max);
}
