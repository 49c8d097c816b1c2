import type { JsonObject, JsonValue } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import { isObject } from '../json/fields.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { fetchJson, type JsonTransport } from './fetch-json.ts';

/** How a provider counts the tokens of a request. It is derived from the request that is counted. */
export interface TokenCounter {
  /** The URL of the count, from the URL of the request. */
  url(url: string): string;
  body(body: JsonObject): JsonObject;
  /** The field of the answer with the number. */
  readonly field: string;
}

/** Anthropic: `/v1/messages/count_tokens`. It rejects fields that do not change the count. */
export const anthropicCounter: TokenCounter = {
  url: (url) => appendToPath(url, '/count_tokens'),
  body: (body) =>
    pick(body, [
      'model',
      'messages',
      'system',
      'tools',
      'tool_choice',
      'thinking',
      'output_config',
    ]),
  field: 'input_tokens',
};

/** OpenAI and llama.cpp: `/v1/responses/input_tokens`. */
export const responsesCounter: TokenCounter = {
  url: (url) => appendToPath(url, '/input_tokens'),
  body: (body) =>
    pick(body, [
      'model',
      'input',
      'instructions',
      'tools',
      'tool_choice',
      'reasoning',
      'text',
      'previous_response_id',
    ]),
  field: 'input_tokens',
};

/** Gemini: `:countTokens` in place of `:streamGenerateContent`. */
export function geminiCounter(model: string): TokenCounter {
  const name = model.includes('/') ? model : `models/${model}`;
  return {
    url: (url) => {
      const { origin, pathname } = new URL(url);
      return `${origin}${pathname.replace(/:[A-Za-z]+$/, ':countTokens')}`;
    },
    body: (body) => ({ generateContentRequest: { ...body, model: name } }),
    field: 'totalTokens',
  };
}

/** Servers with Chat Completions have no common endpoint. */
export const chatCounters: Readonly<Record<'input_tokens' | 'tokenize', TokenCounter>> = {
  /** llama.cpp: `/v1/chat/completions/input_tokens`. */
  input_tokens: {
    url: (url) => appendToPath(url, '/input_tokens'),
    body: (body) => pick(body, ['model', 'messages', 'tools', 'tool_choice']),
    field: 'input_tokens',
  },
  /** vLLM: `/tokenize`, beside `/v1`. */
  tokenize: {
    url: (url) => `${new URL(url).origin}/tokenize`,
    body: (body) => ({
      ...pick(body, ['model', 'messages', 'tools']),
      add_generation_prompt: true,
    }),
    field: 'count',
  },
};

/**
 * Creates `Provider.countTokens` for a wire. After an answer without a count, for example from a
 * proxy that does not have the endpoint, it does not ask again.
 */
export function countTokensWith(
  counter: TokenCounter,
  http: (request: ModelRequest) => HttpRequest,
  transport: JsonTransport,
): NonNullable<Provider['countTokens']> {
  let isMissing = false;
  return async (request, { signal } = {}) => {
    if (isMissing) return undefined;
    const { url, headers, body } = http(request);
    const { accept: _stream, ...sent } = headers;
    const answer = await fetchJson(transport, {
      ...{ url: counter.url(url), headers: sent, body: counter.body(body), signal },
    });
    const count = isObject(answer) ? answer[counter.field] : undefined;
    const isCounted = typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
    if (!isCounted && !signal?.aborted) isMissing = true;
    return isCounted ? count : undefined;
  };
}

function appendToPath(url: string, end: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${end}${search}`;
}

function pick(body: JsonObject, names: readonly string[]): JsonObject {
  const kept: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = body[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
