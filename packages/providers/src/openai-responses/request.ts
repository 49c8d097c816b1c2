import type { JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import { withoutForeignContainers } from '../history/remote-state.ts';
import { toMessages } from '../history/to-messages.ts';
import { commonEfforts, effortFor, sentSampling } from '../models/effort.ts';
import { enforcedSchema, openaiStrictRules } from '../schema/strict-schema.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { refuseUnsupported } from '../wire/check-request.ts';
import { httpRequestTo } from '../wire/endpoint.ts';
import { optionsFor, withProviderOptions } from '../wire/provider-options.ts';
import { inputItems } from './messages.ts';
import type { ResponsesDialect, ResponsesOptions } from './options.ts';
import { toolFields } from './tools.ts';

interface RequestContext {
  readonly info: ModelInfo;
  /** The session that the request belongs to. */
  readonly session: string | undefined;
}

export function responsesRequest(
  request: ModelRequest,
  options: ResponsesOptions,
  dialect: ResponsesDialect,
  context: RequestContext,
): HttpRequest {
  const warnings: string[] = [];
  const body = responsesBody(request, options, dialect, { ...context, warnings });
  return { ...httpRequestTo(dialect, options, body), warnings };
}

function responsesBody(
  request: ModelRequest,
  options: ResponsesOptions,
  dialect: ResponsesDialect,
  { info, session, warnings }: RequestContext & { readonly warnings: string[] },
): JsonObject {
  const { model } = options;
  const { id, longCache, hasPromptCacheKey } = dialect;
  const { maxOutputTokens, cache } = request;
  const { temperature, topP } = sentSampling(request, { model, info, warnings });
  if (request.stopSequences?.length) {
    throw fault('invalid_request', 'the Responses API has no stop sequences; leave them out');
  }
  refuseUnsupported(request, 'the Responses API', ['candidates']);
  // The request for a long cache retention is only a hint, so it must never make a request fail.
  const isLongLived = cache?.longLived === true && longCache && info.longCache === true;
  const { background = false, sendsOnlyNew = false } = options;
  const isStored = options.store ?? (background || sendsOnlyNew);
  const store = optionsFor(id, request)['store'] ?? isStored;
  const messages = toMessages(request, { provider: id, model });
  const body: JsonObject = {
    model,
    input: inputItems(withoutForeignContainers(messages, session), {
      ...dialect,
      isStored: store !== false,
    }),
    stream: true,
    store,
    ...(request.logprobs === undefined ? {} : { top_logprobs: request.logprobs }),
    ...(background ? { background } : {}),
    ...reasoningFields(request, options, info, store !== false),
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

function reasoningFields(
  request: ModelRequest,
  { reasoningSummary, encryptedReasoning }: ResponsesOptions,
  { reasons, efforts = commonEfforts }: ModelInfo,
  isStored: boolean,
): JsonObject {
  // OpenAI's models without reasoning reject all of these fields.
  const reasoning = reasons === false ? undefined : request.reasoning;
  const effort = reasoning === undefined ? undefined : effortFor(reasoning, efforts);
  const isAsked = reasoning !== undefined && reasoning !== 'none';
  // The reasoning is visible only as a summary.
  const summary = reasoningSummary ?? (isAsked ? 'auto' : 'none');
  const settings = {
    ...(effort === undefined ? {} : { effort }),
    ...(summary === 'none' ? {} : { summary }),
  };
  const isSealed = encryptedReasoning ?? (!isStored && reasons !== false);
  const include = [
    ...(isSealed ? ['reasoning.encrypted_content'] : []),
    ...(request.logprobs === undefined ? [] : ['message.output_text.logprobs']),
  ];
  return {
    ...(Object.keys(settings).length === 0 ? {} : { reasoning: settings }),
    ...(include.length === 0 ? {} : { include }),
  };
}

function outputFields({ output }: ModelRequest, warnings: string[]): JsonObject {
  if (output === undefined) return {};
  const { name, schema, strict = true } = output;
  const sent = strict
    ? enforcedSchema(output, openaiStrictRules, warnings)
    : { schema, strict: false };
  return { text: { format: { type: 'json_schema', name, ...sent } } };
}
