import { type Item, type ItemKind, itemId, type JsonObject, type Part } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion, Provider } from '../contract/provider.ts';
import { gemini } from '../gemini/provider.ts';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';

// What real providers and servers accept, reject and send. Each test has the number of the report.

let count = 0;
const item = (kind: ItemKind, ...parts: readonly Part[]): Item => ({
  id: itemId(`item${++count}`),
  kind,
  parts,
});
const text = (words: string): Part => ({ kind: 'text', text: words });
const user = item('user', text('Hi'));
const schema = { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] };
const output = { name: 'tide', schema };
const tools = [{ name: 'bash', inputSchema: { type: 'object', properties: {} } }];

type Fetch = typeof fetch;

async function exchange(
  create: (options: { readonly fetch: Fetch; readonly apiKey: string }) => Provider,
  request: Partial<ModelRequest> = {},
  events: readonly (string | object)[] = [],
): Promise<{ readonly body: JsonObject; readonly completion: Completion }> {
  const { fetch, requests } = fetchOf([sseOf(events)]);
  const completion = await create({ fetch, apiKey: 'key' }).complete({ items: [user], ...request });
  const [sent] = requests;
  if (sent === undefined) throw completion.error ?? new Error('Nothing was sent');
  return { body: sent.body as JsonObject, completion };
}

const chat =
  (more: Partial<ChatOptions> = {}) =>
  (options: { fetch: Fetch; apiKey: string }) =>
    openaiChat({ model: 'any', ...options, ...more });

/** The answer of a Chat Completions server to these deltas of its first choice. */
const chatAnswer = (
  deltas: readonly object[],
  finishReason = 'stop',
  more: readonly object[] = [],
) => [
  ...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })),
  { choices: [{ index: 0, delta: {}, finish_reason: finishReason }] },
  ...more,
];

const callsOf = ({ item: { parts } }: Completion) =>
  parts.flatMap((part) => (part.kind === 'tool_call' ? [[part.name, part.arguments]] : []));

describe('requests', () => {
  test('fault 5: a server without schemas gets the schema in words, after the instructions', async () => {
    const items = [item('system', text('Be brief.')), user];
    const { body } = await exchange(chat({ preset: 'deepseek' }), { items, output });
    expect(body['response_format']).toEqual({ type: 'json_object' });
    const messages = body['messages'] as readonly { role: string; content: string }[];
    expect(messages.map(({ role }) => role)).toEqual(['system', 'system', 'user']);
    expect(messages[1]?.content).toContain('json');
    expect(messages[1]?.content).toContain(JSON.stringify(schema));
  });

  test('fault 6: Gemini 2.x gets no schema beside tools, and newer models get both', async () => {
    const of = async (model: string, request: Partial<ModelRequest>) =>
      (await exchange((options) => gemini({ ...options, model }), request)).body;
    const old = await of('gemini-2.5-flash', { output, tools });
    expect(old['generationConfig']).toBeUndefined();
    expect(JSON.stringify(old['systemInstruction'])).toContain('JSON Schema');
    const alone = await of('gemini-2.5-flash', { output });
    expect(alone['generationConfig']).toMatchObject({ responseJsonSchema: schema });
    expect(await of('gemini-3-pro', { output, tools })).toMatchObject({
      generationConfig: { responseJsonSchema: schema },
      tools: [{ functionDeclarations: [{ name: 'bash' }] }],
    });
  });

  test('fault 8: a tool of Anthropic’s design replaces the agent’s tool of that name', async () => {
    const extraTools = [{ type: 'bash_20250124', name: 'bash' } as const];
    const create = (options: { fetch: Fetch; apiKey: string }) =>
      anthropic({ ...options, model: 'claude-sonnet-4-5', extraTools });
    expect((await exchange(create, { tools })).body['tools']).toEqual(extraTools);
  });

  test('fault 13: a hosted tool is chosen by its type', async () => {
    const create = (options: { fetch: Fetch; apiKey: string }) =>
      openaiResponses({ ...options, model: 'gpt-5', extraTools: [{ type: 'web_search' }] });
    const choose = async (name: string) =>
      (await exchange(create, { tools, toolChoice: { name } })).body['tool_choice'];
    expect(await choose('web_search')).toEqual({ type: 'web_search' });
    expect(await choose('bash')).toEqual({ type: 'function', name: 'bash' });
  });

  test('fault 13: a picture that the model made is named in the history', async () => {
    const source = { type: 'url', url: 'https://example.com/a.png' } as const;
    const made = item('assistant', { kind: 'media', mimeType: 'image/png', source });
    const { body } = await exchange(chat(), { items: [user, made, user] });
    expect(body['messages']).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '[image/png]' },
      { role: 'user', content: 'Hi' },
    ]);
  });
});

describe('fault 7: provider options', () => {
  const responses = (options: { fetch: Fetch; apiKey: string }) =>
    openaiResponses({ ...options, model: 'gpt-5', extraTools: [{ type: 'web_search' }] });

  test('are merged deeply, and lists are joined', async () => {
    const own = { type: 'image_generation' };
    const providerOptions = {
      openai: {
        text: { verbosity: 'low' },
        tools: [own],
        include: ['message.output_text.logprobs'],
        temperature: 0.5,
      },
    };
    const request = { output, tools, temperature: 1, reasoning: 'low', providerOptions } as const;
    const { body } = await exchange(responses, request);
    expect(body).toMatchObject({
      text: { verbosity: 'low', format: { name: 'tide' } },
      tools: [{ name: 'bash' }, { type: 'web_search' }, own],
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      temperature: 0.5,
    });
  });

  test('go only to the provider that they name', async () => {
    const providerOptions = { anthropic: { service_tier: 'auto' }, openai: { seed: 7 } };
    expect((await exchange(chat(), { providerOptions })).body).toMatchObject({ seed: 7 });
    const { body } = await exchange(chat({ preset: 'groq' }), { providerOptions });
    expect(body).not.toHaveProperty('seed');
    expect(body).not.toHaveProperty('service_tier');
    const elsewhere = { baseUrl: 'http://127.0.0.1:9/v1' };
    const compatible = {
      'openai-compatible': { seed: 1 },
      'openai-compatible@127.0.0.1:9': { top_k: 2 },
    };
    const sent = await exchange(chat(elsewhere), { providerOptions: compatible });
    expect(sent.body).toMatchObject({ seed: 1, top_k: 2 });
  });

  test.for<[string, JsonObject]>([
    ['model', { model: 'gpt-4' }],
    ['messages', { messages: [] }],
    ['stream', { stream: false }],
    ['stream_options.include_usage', { stream_options: { include_usage: false } }],
    ['stream_options', { stream_options: null }],
    ['tools', { tools: 'none' }],
    ['response_format', { response_format: 'json' }],
  ])('that would remove %s are refused before anything is sent', async ([field, openai]) => {
    const { fetch, requests } = fetchOf([]);
    const provider = openaiChat({ model: 'any', apiKey: 'key', fetch });
    const { error } = await provider.complete({
      ...{ items: [user], output, tools },
      providerOptions: { openai },
    });
    expect(error?.kind).toBe('invalid_request');
    expect(error?.message).toContain(`providerOptions cannot set ${field}: `);
    expect(requests).toEqual([]);
  });

  test('without the name of a provider are refused', async () => {
    const { fetch } = fetchOf([]);
    const provider = openaiChat({ model: 'any', apiKey: 'key', fetch });
    const providerOptions = { seed: 7 } as unknown as Record<string, JsonObject>;
    const { error } = await provider.complete({ items: [user], providerOptions });
    expect(error?.message).toContain('put it under the provider');
  });
});

describe('answers', () => {
  test('fault 9: reasoning that exceeds the completion is counted beside it', async () => {
    const usage = {
      ...{ prompt_tokens: 10, completion_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 40 },
    };
    const events = chatAnswer([{ content: 'Hi' }], 'stop', [{ choices: [], usage }]);
    const { completion } = await exchange(chat(), {}, events);
    expect(completion.usage).toMatchObject({ input: 10, output: 43, reasoning: 40 });
  });

  test('fault 9: the usage of an error chunk counts', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 3 };
    const events = [
      { choices: [{ index: 0, delta: { content: 'Hi' } }] },
      { error: { message: 'overloaded', code: 503 }, usage, choices: [] },
    ];
    const { completion } = await exchange(chat(), {}, events);
    expect(completion.error).toBeDefined();
    expect(completion.usage).toMatchObject({ input: 10, output: 3 });
  });

  test('fault 10: an empty function_call beside an answer is no call', async () => {
    const delta = { content: 'Hi', function_call: { name: '', arguments: '' } };
    const { completion } = await exchange(chat(), {}, chatAnswer([delta]));
    expect(completion).toMatchObject({ text: 'Hi', stop: { reason: 'stop' } });
    expect(completion.error).toBeUndefined();
    const split = [{ name: 'bash' }, { arguments: '{}' }].map((one) => ({ function_call: one }));
    const called = await exchange(chat(), {}, chatAnswer(split, 'function_call'));
    expect(callsOf(called.completion)).toEqual([['bash', '{}']]);
  });

  test('fault 10: a whole answer with an empty delta beside its message has its text', async () => {
    const choice = { index: 0, message: { content: 'Hi' }, delta: { content: '' } };
    const body = { choices: [{ ...choice, finish_reason: 'stop' }] };
    const { fetch } = fetchOf([JSON.stringify(body)], {
      headers: { 'content-type': 'application/json' },
    });
    const provider = openaiChat({ model: 'sonar', apiKey: 'key', fetch });
    expect(await provider.complete({ items: [user] })).toMatchObject({ text: 'Hi' });
  });

  test('fault 13: too many prompt tokens are an overflow', async () => {
    const error = { type: 'too_many_prompt_tokens', message: 'Too much.', code: 400 };
    const { fetch } = fetchOf([JSON.stringify({ error })], {
      ...{ status: 400, headers: { 'content-type': 'application/json' } },
    });
    const provider = openaiChat({ model: 'sonar', apiKey: 'key', fetch });
    const completion = await provider.complete({ items: [user] });
    expect(completion.error?.kind).toBe('context_overflow');
  });

  test('fault 15: two entries with one index in a chunk are one call', async () => {
    const entry = (index: number, called: object, more = {}) => ({
      ...{ index, type: 'function', function: called },
      ...more,
    });
    const deltas = [
      {
        tool_calls: [
          entry(0, { name: 'bash' }, { id: 'a' }),
          entry(0, { arguments: '{"command"' }),
        ],
      },
      {
        tool_calls: [
          entry(0, { arguments: ':"ls"}' }),
          entry(1, { name: 'read' }, { id: 'b' }),
          entry(1, { arguments: '{}' }),
        ],
      },
    ];
    const { completion } = await exchange(chat(), {}, chatAnswer(deltas, 'tool_calls'));
    expect(callsOf(completion)).toEqual([
      ['bash', '{"command":"ls"}'],
      ['read', '{}'],
    ]);
  });

  test('fault 15: parallel calls that all have index 0 stay apart', async () => {
    const call = (id: string, name: string) => ({
      ...{ index: 0, id, type: 'function', function: { name, arguments: '{}' } },
    });
    const deltas = [{ tool_calls: [call('a', 'bash'), call('b', 'read')] }];
    const { completion } = await exchange(chat(), {}, chatAnswer(deltas, 'tool_calls'));
    expect(callsOf(completion)).toEqual([
      ['bash', '{}'],
      ['read', '{}'],
    ]);
  });

  test('fault 21: a finish reason FUNCTION_CALL means that the calls run', async () => {
    const parts = [{ functionCall: { name: 'bash', args: { command: 'ls' } } }];
    const events = [
      { candidates: [{ content: { role: 'model', parts }, finishReason: 'FUNCTION_CALL' }] },
    ];
    const create = (options: { fetch: Fetch; apiKey: string }) =>
      gemini({ ...options, model: 'gemini-2.5-flash' });
    const { completion } = await exchange(create, { tools }, events);
    expect(completion.stop).toEqual({ reason: 'tool_use', raw: 'FUNCTION_CALL' });
    expect(callsOf(completion)).toEqual([['bash', '{"command":"ls"}']]);
  });

  test('fault 21: usage of zero tokens is no report', async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const events = chatAnswer([{ content: 'Hello there' }], 'stop', [{ choices: [], usage }]);
    const { completion } = await exchange(chat(), {}, events);
    expect(completion.usage.estimated).toBe(true);
    expect(completion.usage.output).toBeGreaterThan(0);
  });
});
