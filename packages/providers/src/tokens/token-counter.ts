import type { JsonObject, JsonValue } from '@millrace/core';

/**
 * Describes how a provider counts the tokens of a model request. Millrace sends a second request,
 * the count request, which it derives from the model request.
 */
export interface TokenCounter {
  /** Returns the URL of the count request. `url` is the URL of the model request. */
  url(url: string): string;
  /** Returns the body of the count request. `body` is the body of the model request. */
  body(body: JsonObject): JsonObject;
  /** The field of the provider's answer that contains the number of tokens. */
  readonly field: string;
}

/**
 * The counter of Anthropic: `/v1/messages/count_tokens`. The API rejects fields that do not change
 * the count.
 */
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

/** The counter of OpenAI and llama.cpp: `/v1/responses/input_tokens`. */
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

/** Returns the counter of Gemini: `:countTokens` in place of `:streamGenerateContent`. */
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

/** The counters of servers with Chat Completions, which have no common endpoint. */
export const chatCounters: Readonly<Record<'input_tokens' | 'tokenize', TokenCounter>> = {
  /** The counter of llama.cpp: `/v1/chat/completions/input_tokens`. */
  input_tokens: {
    url: (url) => appendToPath(url, '/input_tokens'),
    body: (body) => pick(body, ['model', 'messages', 'tools', 'tool_choice']),
    field: 'input_tokens',
  },
  /** The counter of vLLM: `/tokenize`, which is not below `/v1`. */
  tokenize: {
    url: (url) => `${new URL(url).origin}/tokenize`,
    body: (body) => ({
      ...pick(body, ['model', 'messages', 'tools']),
      add_generation_prompt: true,
    }),
    field: 'count',
  },
};

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
