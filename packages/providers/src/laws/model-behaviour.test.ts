import { type Item, type ItemKind, itemId, type JsonObject, type Part } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion, Provider } from '../contract/provider.ts';
import { gemini } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';

// What is sent depends on the model, by the table of models.

let count = 0;
const item = (kind: ItemKind, ...parts: readonly Part[]): Item => ({
  id: itemId(`item${++count}`),
  kind,
  parts,
});
const user = item('user', { kind: 'text', text: 'Hi' });

interface Connection {
  readonly fetch: typeof fetch;
  readonly apiKey: string;
}

async function sent(
  create: (options: Connection) => Provider,
  request: Partial<ModelRequest> = {},
): Promise<JsonObject & { readonly completion?: never }> {
  const { body } = await exchange(create, request);
  return body;
}

async function exchange(
  create: (options: Connection) => Provider,
  request: Partial<ModelRequest> = {},
): Promise<{ readonly body: JsonObject; readonly completion: Completion }> {
  const { fetch, requests } = fetchOf([sseOf([])]);
  const completion = await create({ fetch, apiKey: 'key' }).complete({ items: [user], ...request });
  const [first] = requests;
  if (first === undefined) throw completion.error ?? new Error('Nothing was sent');
  return { body: first.body as JsonObject, completion };
}

const chat = (model: string) => (options: Connection) => openaiChat({ ...options, model });
const responses = (model: string) => (options: Connection) =>
  openaiResponses({ ...options, model });
const messages = (model: string) => (options: Connection) => anthropic({ ...options, model });

describe('19.11: the effort is one that the model has', () => {
  test.each([
    ['gpt-5', 'max', 'high'],
    ['gpt-5', 'none', 'minimal'],
    ['gpt-5.1', 'max', 'high'],
    ['gpt-5.1', 'minimal', 'low'],
    ['gpt-5.1', 'none', 'none'],
    ['gpt-5.5', 'max', 'xhigh'],
    ['gpt-5.5-pro', 'low', 'medium'],
    ['gpt-6-sol', 'max', 'max'],
    ['o3', 'max', 'high'],
    ['o3', 'none', 'low'],
    ['o4-mini-2025-04-16', 'minimal', 'low'],
    ['a-model-of-the-future', 'max', 'high'],
    ['a-model-of-the-future', 'minimal', 'low'],
    ['a-model-of-the-future', 'none', 'none'],
  ] as const)('of OpenAI: %s and %s become %s', async (model, reasoning, effort) => {
    expect(await sent(chat(model), { reasoning })).toMatchObject({ reasoning_effort: effort });
    expect(await sent(responses(model), { reasoning })).toMatchObject({ reasoning: { effort } });
  });

  test.each(['gpt-4o', 'gpt-4.1-mini', 'gpt-5-chat-latest'])(
    'and none for %s, which does not reason',
    async (model) => {
      const reasoning = 'high';
      expect(await sent(chat(model), { reasoning })).not.toHaveProperty('reasoning_effort');
      const body = await sent(responses(model), { reasoning });
      expect(body).not.toHaveProperty('reasoning');
      expect(body).not.toHaveProperty('include');
    },
  );

  test.each([
    ['claude-opus-4-6', 'max', 'max'],
    ['claude-opus-5', 'max', 'max'],
    ['claude-of-the-future', 'max', 'high'],
    ['claude-of-the-future', 'minimal', 'low'],
  ] as const)('of Anthropic: %s and %s become %s', async (model, reasoning, effort) => {
    expect(await sent(messages(model), { reasoning })).toMatchObject({ output_config: { effort } });
  });

  test.each([
    ['gemini-3-pro-preview', 'medium', 'high'],
    ['gemini-3-flash-preview', 'minimal', 'minimal'],
    ['gemini-3.7-flash', 'none', 'low'],
    ['gemini-4-argon', 'max', 'high'],
  ] as const)('of Gemini: %s and %s become %s', async (model, reasoning, level) => {
    const body = await sent((options) => gemini({ ...options, model }), { reasoning });
    expect(body).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingLevel: level.toUpperCase() } },
    });
  });

  test('of OpenRouter and Groq, by the models that they serve', async () => {
    const preset = 'openrouter';
    const model = 'openai/gpt-5.1';
    const create = (options: Connection) => openaiChat({ ...options, preset, model });
    const body = await sent(create, { reasoning: 'max' });
    expect(body['reasoning']).toEqual({ effort: 'high' });
    const groq = (options: Connection) =>
      openaiChat({ ...options, preset: 'groq', model: 'openai/gpt-oss-120b' });
    expect(await sent(groq, { reasoning: 'none' })).toMatchObject({ reasoning_effort: 'low' });
  });
});

describe('a temperature', () => {
  test.each([
    ['gpt-5', undefined, false],
    ['gpt-5.1', 'none', true],
    ['gpt-5.1', undefined, true],
    ['gpt-5.1', 'low', false],
    ['gpt-4o', undefined, true],
    ['a-model-of-the-future', 'low', true],
  ] as const)('goes to %s with effort %s: %s', async (model, reasoning, isSent) => {
    const request = { reasoning, temperature: 0.2, topP: 0.9 };
    for (const create of [chat(model), responses(model)]) {
      const { body, completion } = await exchange(create, request);
      expect('temperature' in body).toBe(isSent);
      expect('top_p' in body).toBe(isSent);
      const warning = expect.stringContaining('temperature');
      expect(completion.warnings ?? []).toEqual(isSent ? [] : [warning]);
    }
  });
});

describe('19.12: a model gets only attachments that it can read', () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const song: Part = { kind: 'media', mimeType: 'audio/mpeg', source: { type: 'bytes', bytes } };
  const picture: Part = { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } };
  // A later turn sends the same attachments again.
  const items = [item('user', song, picture), item('assistant', { kind: 'text', text: 'A song.' })];

  const kindsOf = async (create: (options: Connection) => Provider) => {
    const body = await sent(create, { items: [...items, user] });
    const [first] = body['messages'] as readonly { content: readonly { type: string }[] }[];
    return first?.content.map(({ type }) => type);
  };

  test.each([
    ['gpt-4o', ['text', 'image_url']],
    ['gpt-5.5', ['text', 'image_url']],
    ['gpt-audio', ['input_audio', 'text']],
    ['gpt-4o-audio-preview', ['input_audio', 'text']],
    ['gpt-3.5-turbo', ['text', 'text']],
    ['a-model-of-the-future', ['text', 'image_url']],
  ])('%s gets %j', async (model, expected) => {
    expect(await kindsOf(chat(model))).toEqual(expected);
  });

  test('an unknown model of a server gets audio if the options or the table allow it', async () => {
    const at = { baseUrl: 'http://127.0.0.1:1/v1', model: 'voice' };
    expect(await kindsOf((options) => openaiChat({ ...options, ...at }))).toEqual([
      'text',
      'image_url',
    ]);
    const dialect = { attachmentTypes: ['audio'] } as const;
    expect(await kindsOf((options) => openaiChat({ ...options, ...at, dialect }))).toEqual([
      'input_audio',
      'text',
    ]);
    const info = { inputs: ['audio'] } as const;
    expect(await kindsOf((options) => openaiChat({ ...options, ...at, info }))).toEqual([
      'input_audio',
      'text',
    ]);
  });

  test('Gemma gets no audio', async () => {
    const create = (options: Connection) => gemini({ ...options, model: 'gemma-3-27b-it' });
    const body = await sent(create, { items: [...items, user] });
    expect(JSON.stringify(body)).not.toContain('audio/mpeg","data');
    expect(JSON.stringify(body)).toContain('image/png","data');
  });
});

describe('19.21: a server with the Messages API', () => {
  test('of 8,192 tokens accepts the default maximum of an unknown model', async () => {
    const body = await sent(messages('a-local-model'));
    expect(body['max_tokens']).toBeLessThanOrEqual(4096);
  });

  test.each([
    ['claude-opus-4-8', 64_000],
    ['claude-opus-4-1', 32_000],
    ['claude-3-5-haiku-20241022', 8192],
    ['deepseek-chat', 8192],
  ])('gets for %s at most %d tokens', async (model, tokens) => {
    expect(await sent(messages(model))).toMatchObject({ max_tokens: tokens });
    const info = { maxOutputTokens: 1000 };
    const create = (options: Connection) => anthropic({ ...options, model, info });
    expect(await sent(create)).toMatchObject({ max_tokens: 1000 });
  });

  test('at another address is named in its errors', async () => {
    const create = (baseUrl?: string) => {
      const { fetch } = fetchOf(['{"error":{"message":"no such model"}}'], { status: 404 });
      return anthropic({ model: 'any', apiKey: 'key', fetch, baseUrl });
    };
    const local = create('http://127.0.0.1:8080');
    const { error } = await local.complete({ items: [user] });
    expect(error?.provider).toBe('anthropic@127.0.0.1:8080');
    expect(error?.message).toContain('127.0.0.1:8080');
    expect(create().id).toBe('anthropic');
    expect(create('https://api.anthropic.com/v1').id).toBe('anthropic');
  });
});

test('a Claude that cannot be forced to call a tool is asked without force', async () => {
  const tools = [{ name: 'look', inputSchema: { type: 'object' } }];
  const request = { tools, toolChoice: 'required' } as const;
  const { body, completion } = await exchange(messages('claude-opus-5-5'), request);
  expect(body['tool_choice']).toEqual({ type: 'auto' });
  expect(completion.warnings).toEqual([expect.stringContaining('tool')]);
  expect(await sent(messages('claude-opus-5'), request)).toMatchObject({
    tool_choice: { type: 'any' },
  });
});
