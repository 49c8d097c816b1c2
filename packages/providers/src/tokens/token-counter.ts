import type { JsonObject, JsonValue } from '@millrace/core';

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
