import type { JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import type {
  CacheHints,
  ModelRequest,
  OutputSchema,
  ReasoningEffort,
} from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import { commonEfforts, effortFor, sentSampling } from '../models/effort.ts';
import { withSchemaInWords } from '../schema/schema-in-words.ts';
import { enforcedSchema, openaiStrictRules } from '../schema/strict-schema.ts';
import { systemClock } from '../transport/clock.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { httpRequestTo } from '../wire/endpoint.ts';
import { withProviderOptions } from '../wire/provider-options.ts';
import { chatMessages } from './messages.ts';
import type { ChatDialect, ChatOptions } from './options.ts';
import { toolFields } from './tools.ts';

export function chatRequest(
  request: ModelRequest,
  options: ChatOptions,
  dialect: ChatDialect,
  info: ModelInfo,
): HttpRequest {
  const warnings: string[] = [];
  const body = chatBody(request, options, dialect, { info, warnings });
  return { ...httpRequestTo(dialect, options, body), warnings };
}

function chatBody(
  request: ModelRequest,
  { model, clock = systemClock, extraTools = [] }: ChatOptions,
  dialect: ChatDialect,
  { info, warnings }: { readonly info: ModelInfo; readonly warnings: string[] },
): JsonObject {
  const isInWords = request.output !== undefined && dialect.outputFormat === 'json_object';
  const said = isInWords ? withSchemaInWords(request, request.output) : request;
  const messages = toMessages(said, { provider: dialect.id, model, ids: dialect.ids });
  const { candidates, logprobs } = request;
  const { maxOutputTokens, stopSequences, cache, output, reasoning } = request;
  const { temperature, topP } = sentSampling(request, { model, info, warnings });
  const body: JsonObject = {
    model,
    messages: chatMessages(messages, dialect, {
      nowMs: clock.now(),
      cacheControl: marksFor(model, dialect, cache),
    }),
    stream: true,
    ...(dialect.asksForUsage ? { stream_options: { include_usage: true } } : {}),
    ...toolFields(request, messages, { dialect, extraTools }, warnings),
    ...(maxOutputTokens === undefined ? {} : { [dialect.maxTokensField]: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stopSequences === undefined ? {} : { stop: stopSequences }),
    ...(reasoning === undefined ? {} : effortFields(reasoning, dialect, { model, info, warnings })),
    ...(candidates === undefined ? {} : { n: candidates }),
    ...(logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs }),
    ...(output === undefined ? {} : { response_format: outputFormat(output, dialect, warnings) }),
    ...cacheKey(cache, dialect),
  };
  return withProviderOptions(body, dialect.id, request);
}

function cacheKey(cache: CacheHints | undefined, { cacheKeyField }: ChatDialect): JsonObject {
  return cacheKeyField === 'none' || !cache?.key ? {} : { [cacheKeyField]: cache.key };
}

/** Returns the field that marks a cache point. Returns undefined if the model caches without marks. */
function marksFor(
  model: string,
  { cacheControlModels }: ChatDialect,
  cache: CacheHints | undefined,
): JsonObject | undefined {
  const isMarked = cacheControlModels.some((name) => model.toLowerCase().includes(name));
  if (cache === undefined || !isMarked) return undefined;
  return { type: 'ephemeral', ...(cache.longLived ? { ttl: '1h' } : {}) };
}

function outputFormat(output: OutputSchema, dialect: ChatDialect, warnings: string[]): JsonObject {
  if (dialect.outputFormat === 'json_object') return { type: 'json_object' };
  const { name, schema, strict = true } = output;
  const sent = strict
    ? enforcedSchema(output, openaiStrictRules, warnings)
    : { schema, strict: false };
  return { type: 'json_schema', json_schema: { name, ...sent } };
}

interface Target {
  readonly model: string;
  readonly info: ModelInfo;
  readonly warnings: string[];
}

function effortFields(
  requested: ReasoningEffort,
  { reasoningEffort }: ChatDialect,
  { model, info, warnings }: Target,
): JsonObject {
  const isOn = requested !== 'none';
  const effort = effortFor(requested, info.efforts ?? commonEfforts);
  switch (reasoningEffort) {
    case 'effort':
      return effort === undefined ? {} : { reasoning_effort: effort };
    case 'reasoning_object':
      if (!isOn) return { reasoning: { enabled: false } };
      return effort === undefined ? {} : { reasoning: { effort } };
    case 'thinking_type':
      return { thinking: { type: isOn ? 'enabled' : 'disabled' } };
    case 'enable_thinking':
      return { enable_thinking: isOn };
    case 'ollama':
      return ollamaEffort(requested, model, warnings);
    case 'none':
      return {};
  }
}

/**
 * Returns the effort for Ollama. Ollama accepts `none` for every model, but effort levels only for models
 * that have levels.
 */
function ollamaEffort(effort: ReasoningEffort, model: string, warnings: string[]): JsonObject {
  if (effort === 'none') return { reasoning_effort: 'none' };
  if (/gpt-oss/i.test(model)) return { reasoning_effort: ollamaLevels[effort] };
  warnings.push(
    `Ollama takes no reasoning level for ${model}, so ${effort} was not sent. The model reasons if it can`,
  );
  return {};
}

const ollamaLevels: Readonly<Record<Exclude<ReasoningEffort, 'none'>, string>> = {
  ...{ minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'high' },
};
