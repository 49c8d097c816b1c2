import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import { toMessages } from '../history/to-messages.ts';
import { enforcedSchema, openaiStrictRules } from '../schema/strict-schema.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { refuseUnsupported } from '../wire/check-request.ts';
import { httpRequestTo } from '../wire/endpoint.ts';
import { optionsFor, withProviderOptions } from '../wire/provider-options.ts';
import { inputItems } from './messages.ts';
import type { ResponsesDialect, ResponsesOptions } from './options.ts';
import { isLongCacheModel } from './presets.ts';
import { toolFields } from './tools.ts';

export function responsesRequest(
  request: ModelRequest,
  options: ResponsesOptions,
  dialect: ResponsesDialect,
): HttpRequest {
  const warnings: string[] = [];
  const body = responsesBody(request, options, dialect, warnings);
  return { ...httpRequestTo(dialect, options, body), warnings };
}

function responsesBody(
  request: ModelRequest,
  options: ResponsesOptions,
  dialect: ResponsesDialect,
  warnings: string[],
): JsonObject {
  const { model } = options;
  const { id, longCacheModels, hasPromptCacheKey } = dialect;
  const { maxOutputTokens, temperature, topP, cache } = request;
  if (request.stopSequences?.length) {
    throw fault('invalid_request', 'the Responses API has no stop sequences; leave them out');
  }
  refuseUnsupported(request, 'the Responses API', ['candidates']);
  // Cache retention is only a hint. It must not make a request fail.
  const isLongLived = cache?.longLived === true && isLongCacheModel(longCacheModels, model);
  const { background = false, sendsOnlyNew = false } = options;
  const isStored = options.store ?? (background || sendsOnlyNew);
  const store = optionsFor(id, request)['store'] ?? isStored;
  const messages = toMessages(request, { provider: id, model });
  const body: JsonObject = {
    model,
    input: inputItems(messages, { ...dialect, isStored: store !== false }),
    stream: true,
    store,
    ...(request.logprobs === undefined ? {} : { top_logprobs: request.logprobs }),
    ...(background ? { background } : {}),
    ...reasoningFields(request, options, store !== false),
    ...outputFields(request, warnings),
    ...toolFields(request, options, dialect, warnings),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(hasPromptCacheKey && cache?.key ? { prompt_cache_key: cache.key } : {}),
    ...(isLongLived ? { prompt_cache_retention: '24h' } : {}),
  };
  return withProviderOptions(body, id, request);
}

const efforts: { readonly [Effort in ReasoningEffort]: string } = {
  none: 'none',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  max: 'xhigh',
};

function reasoningFields(
  { reasoning, logprobs }: ModelRequest,
  { model, reasoningSummary, encryptedReasoning }: ResponsesOptions,
  isStored: boolean,
): JsonObject {
  const isAsked = reasoning !== undefined && reasoning !== 'none';
  // Without a summary the reasoning is invisible.
  const summary = reasoningSummary ?? (isAsked ? 'auto' : 'none');
  const settings = {
    ...(reasoning === undefined ? {} : { effort: efforts[reasoning] }),
    ...(summary === 'none' ? {} : { summary }),
  };
  const isSealed = encryptedReasoning ?? (!isStored && (isAsked || !isWithoutReasoning(model)));
  const include = [
    ...(isSealed ? ['reasoning.encrypted_content'] : []),
    ...(logprobs === undefined ? [] : ['message.output_text.logprobs']),
  ];
  return {
    ...(Object.keys(settings).length === 0 ? {} : { reasoning: settings }),
    ...(include.length === 0 ? {} : { include }),
  };
}

/** OpenAI's models without reasoning reject the field. */
function isWithoutReasoning(model: string): boolean {
  return /(?:^|\/)(?:gpt-3|gpt-4|chatgpt|gpt-5(?:\.\d+)?-chat)/.test(model);
}

function outputFields({ output }: ModelRequest, warnings: string[]): JsonObject {
  if (output === undefined) return {};
  const { name, schema, strict = true } = output;
  const sent = strict
    ? enforcedSchema(output, openaiStrictRules, warnings)
    : { schema, strict: false };
  return { text: { format: { type: 'json_schema', name, ...sent } } };
}
