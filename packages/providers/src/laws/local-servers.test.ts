import { type Item, itemId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';

// What servers that users run themselves send and refuse. The numbers are those of the report.

type Fetch = typeof fetch;

const user: Item = { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Hi' }] };
const tools = ['weather', 'clock'].map((name) => ({ name, inputSchema: { type: 'object' } }));

function ask(
  create: (fetch: Fetch) => Provider,
  events: readonly object[],
  request: Partial<ModelRequest> = {},
) {
  const { fetch, requests } = fetchOf([sseOf(events)]);
  const completion = create(fetch).complete({ items: [user], ...request });
  return completion.then((done) => ({ ...done, sent: requests[0]?.body ?? {} }));
}

const local = { baseUrl: 'http://127.0.0.1:8080/v1', model: 'm' };
const responses = (fetch: Fetch) => openaiResponses({ ...local, fetch });
const chat = (fetch: Fetch) => openaiChat({ ...local, fetch, preset: 'llama.cpp' });
const messages = (fetch: Fetch) => anthropic({ ...local, fetch, apiKey: 'none' });

describe('19.21: an answer that llama.cpp cut at the limit of tokens', () => {
  /** Returns the answer of llama.cpp: always `completed`, and no reason. */
  const cutAt = (tokens: number) => {
    const content = [{ type: 'output_text', text: 'Round and round' }];
    const message = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content,
    };
    const usage = { input_tokens: 27, output_tokens: tokens, total_tokens: 27 + tokens };
    const response = { id: 'resp_1', status: 'completed', output: [message], usage };
    return [
      { type: 'response.output_item.added', item: { ...message, content: [] } },
      { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Round and round' },
      { type: 'response.output_item.done', item: message },
      { type: 'response.completed', response },
    ];
  };

  test('ends with the reason length', async () => {
    const { stop, text } = await ask(responses, cutAt(5), { maxOutputTokens: 5 });
    expect([stop, text]).toEqual([
      { reason: 'length', raw: 'completed', cause: 'max_output_tokens' },
      'Round and round',
    ]);
  });

  test('and a shorter one is complete', async () => {
    const { stop } = await ask(responses, cutAt(4), { maxOutputTokens: 5 });
    expect(stop.reason).toBe('stop');
    expect((await ask(responses, cutAt(5))).stop.reason).toBe('stop');
  });

  test('OpenAI reports it itself', async () => {
    const create = (fetch: Fetch) => openaiResponses({ model: 'gpt-5.5', apiKey: 'k', fetch });
    expect((await ask(create, cutAt(16), { maxOutputTokens: 16 })).stop.reason).toBe('stop');
  });
});

describe('19.21: a tool choice that the server ignored', () => {
  const said = (...calls: readonly string[]) => [
    { choices: [{ index: 0, delta: { content: calls.length > 0 ? null : 'Hello' } }] },
    ...calls.map((name, index) => ({
      choices: [
        {
          index: 0,
          delta: { tool_calls: [{ index, id: name, function: { name, arguments: '{}' } }] },
        },
      ],
    })),
    { choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] },
  ];
  const weather = { toolChoice: { name: 'weather' }, tools } as const;

  test.each([
    ['a text', weather, []],
    ['a call of another tool', weather, ['clock']],
    ['a text', { toolChoice: 'required', tools } as const, []],
  ])('and answered with %s is an error', async (_how, request, calls) => {
    const { error, stop, item } = await ask(chat, said(...calls), request);
    expect([error?.kind, stop.reason]).toEqual(['model_output_invalid', 'error']);
    expect(error?.message).toMatch(/ignored the tool choice/);
    // What the model said is kept.
    expect(item.parts).toHaveLength(1);
  });

  test('and Anthropic’s wire reports it too', async () => {
    const events = [
      { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'No' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ];
    expect((await ask(messages, events, weather)).error?.kind).toBe('model_output_invalid');
  });

  test.each([
    ['the named tool is called', weather, said('weather')],
    ['any tool is called', { toolChoice: 'required', tools } as const, said('clock')],
    ['nothing is required', { toolChoice: 'auto', tools } as const, said()],
    ['the answer was cut', weather, [{ choices: [{ index: 0, finish_reason: 'length' }] }]],
    ['the tool runs at the provider', { toolChoice: { name: 'web_search' }, tools }, said()],
  ])('is no error if %s', async (_when, request, events) => {
    expect((await ask(chat, events, request)).error).toBeUndefined();
  });
});

describe('19.18: reasoning of Ollama', () => {
  /**
   * Ollama: `none` turns thinking off. A level is a 400 for models without levels, and so is any
   * other word. Without the field, a model that can think thinks.
   */
  const isAccepted = (model: string, effort: unknown) =>
    effort === undefined ||
    effort === 'none' ||
    (model.includes('gpt-oss') && ['low', 'medium', 'high'].includes(String(effort)));

  const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'max'] as const;

  test.each(['qwen3', 'deepseek-r1:8b', 'llama3.2', 'gpt-oss:20b'])(
    'of %s is accepted',
    async (model) => {
      for (const reasoning of efforts) {
        const create = (fetch: Fetch) => openaiChat({ preset: 'ollama', model, fetch });
        const { sent, warnings } = await ask(create, [], { reasoning });
        expect(isAccepted(model, sent['reasoning_effort'])).toBe(true);
        if (reasoning === 'none') expect(sent['reasoning_effort']).toBe('none');
        const isUnsaid = sent['reasoning_effort'] === undefined;
        expect(warnings?.some((one) => one.includes('reasoning')) ?? false).toBe(isUnsaid);
      }
    },
  );
});

describe('19.20: a port on this machine on which nothing listens', () => {
  const refused: Fetch = () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8080'), {
      code: 'ECONNREFUSED',
    });
    return Promise.reject(new TypeError('fetch failed', { cause }));
  };

  test.each(['http://127.0.0.1:8080/v1', 'http://localhost:8080/v1', 'http://[::1]:8080/v1'])(
    'is tried once more, and the error says to start the server: %s',
    async (baseUrl) => {
      const provider = openaiChat({ model: 'm', preset: 'llama.cpp', baseUrl, fetch: refused });
      const { error } = await provider.complete({ items: [user] });
      expect([error?.kind, error?.retry]).toEqual(['network', 'once']);
      expect(error?.message).toMatch(/nothing listens at .*:8080; start the server/);
    },
  );

  test('is tried again as before on another machine', async () => {
    const provider = openaiChat({ model: 'm', baseUrl: 'http://gpu:8080/v1', fetch: refused });
    expect((await provider.complete({ items: [user] })).error?.retry).toBe('yes');
  });
});
