import type { JsonObject, JsonValue } from '@millrace/core';

/**
 * Describes how a provider counts the tokens of a model request. For a count, Millrace sends a separate
 * request, which it derives from the model request.
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
 * The token counter of Anthropic: `/v1/messages/count_tokens`. The API rejects fields that have no influence
 * on the count.
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

/** The token counter of OpenAI and llama.cpp: `/v1/responses/input_tokens`. */
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

/** Returns the token counter of Gemini. Its URL has `:countTokens` in place of `:streamGenerateContent`. */
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

/** The token counters of servers with Chat Completions. These servers have no common endpoint. */
export const chatCounters: Readonly<Record<'input_tokens' | 'tokenize', TokenCounter>> = {
  /** The token counter of llama.cpp: `/v1/chat/completions/input_tokens`. */
  input_tokens: {
    url: (url) => appendToPath(url, '/input_tokens'),
    body: (body) => pick(body, ['model', 'messages', 'tools', 'tool_choice']),
    field: 'input_tokens',
  },
  /** The token counter of vLLM: `/tokenize`. The endpoint is not below `/v1`. */
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
