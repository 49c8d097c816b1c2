import {
  countingIds,
  type Item,
  type ItemKind,
  itemId,
  type JsonObject,
  type Part,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { anthropicFaults } from '../scripted-server/rules/anthropic.ts';
import { fetchOf, type SentRequest, sseOf } from '../testing/fetch-of.ts';
import type { AnthropicOptions } from './options.ts';
import { anthropic } from './provider.ts';

const model = 'claude-sonnet-4-5';

const over = sseOf([
  { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  { type: 'message_stop' },
]);

async function send(
  request: ModelRequest,
  options: Partial<AnthropicOptions> = {},
): Promise<SentRequest> {
  const { fetch, requests } = fetchOf([over]);
  const provider = anthropic({ model, apiKey: 'key-of-nobody', fetch, ...options });
  const { error } = await provider.complete(request, { ids: countingIds() });
  // The empty answer ignores a tool choice, which does not matter here.
  if (error !== undefined && error.kind !== 'model_output_invalid') throw error;
  const [sent] = requests;
  if (sent === undefined) throw new TypeError('Cannot find a request that was sent');
  return sent;
}

let count = 0;
const item = (kind: ItemKind, ...parts: readonly Part[]): Item => ({
  id: itemId(`item${++count}`),
  kind,
  parts,
});
const text = (words: string): Part => ({ kind: 'text', text: words });
const user = (words: string) => item('user', text(words));
const assistant = (...parts: readonly Part[]) => item('assistant', ...parts);
const call = (id: string, name = 'tide') => toolCallPart(toolCallId(id), name, { port: 'Brest' });
const result = (id: string, words: string, fields: Partial<Part> = {}) =>
  ({
    kind: 'tool_result',
    toolCallId: toolCallId(id),
    name: 'tide',
    text: words,
    isError: false,
    ...fields,
  }) as Part;
const state = (data: JsonObject) => ({ provider: 'anthropic', model, data });
const signed = (words: string, signature: string): Part => ({
  kind: 'reasoning',
  form: 'full',
  text: words,
  signature,
  providerState: state({}),
});
const hosted = (value: JsonObject): Part => ({
  kind: 'custom',
  name: String(value['type']),
  value,
  providerState: state({}),
});

const bodyOf = async (request: ModelRequest, options?: Partial<AnthropicOptions>) =>
  (await send(request, options)).body;
const messagesOf = async (items: readonly Item[], options?: Partial<AnthropicOptions>) =>
  (await bodyOf({ items }, options))['messages'];
const messageOf = (role: string, ...content: readonly unknown[]) => ({ role, content });
const words = (words: string) => ({ type: 'text', text: words });

describe('the URL', () => {
  test('is that of the Messages API, with key and version', async () => {
    const { url, headers } = await send({ items: [user('Hi')] });
    expect(url).toBe('https://api.anthropic.com/v1/messages');
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-api-key': 'key-of-nobody',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
    });
    expect(headers.has('anthropic-beta')).toBe(false);
  });

  test.each(['https://a.example/x', 'https://a.example/x/', 'https://a.example/x/v1'])(
    'may be another: %s',
    async (baseUrl) => {
      const { url } = await send({ items: [user('Hi')] }, { baseUrl });
      expect(url).toBe('https://a.example/x/v1/messages');
    },
  );

  test('takes version, betas and headers, which override the defaults in any case', async () => {
    const headers = { 'Anthropic-Version': 'newest', 'X-Extra': 'yes' };
    const sent = await send(
      { items: [user('Hi')] },
      { betas: ['a-2025-01-01', 'b'], version: 'other', headers },
    );
    expect(sent.headers.get('anthropic-beta')).toBe('a-2025-01-01,b');
    expect(sent.headers.get('anthropic-version')).toBe('newest');
    expect(sent.headers.get('x-extra')).toBe('yes');
    const { headers: plain } = await send({ items: [] }, { version: 'other' });
    expect(plain.get('anthropic-version')).toBe('other');
  });

  test('takes a bearer token or a custom header instead of a key', async () => {
    const bearer = await send({ items: [] }, { apiKey: undefined, authToken: 'token' });
    expect(bearer.headers.get('authorization')).toBe('Bearer token');
    expect(bearer.headers.has('x-api-key')).toBe(false);
    const own = await send({ items: [] }, { apiKey: undefined, headers: { 'X-Api-Key': 'mine' } });
    expect(own.headers.get('x-api-key')).toBe('mine');
  });

  test('takes the key of the environment, and fails as auth without any', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'key-of-the-environment');
    const { headers } = await send({ items: [] }, { apiKey: undefined });
    expect(headers.get('x-api-key')).toBe('key-of-the-environment');
    vi.stubEnv('ANTHROPIC_API_KEY', '');
    const provider = anthropic({ model, fetch: fetchOf([over]).fetch });
    const { error } = await provider.complete({ items: [] });
    vi.unstubAllEnvs();
    expect(error?.kind).toBe('auth');
    expect(error?.message).toContain('ANTHROPIC_API_KEY');
  });

  test.each([
    { apiKey: 'secret-1' },
    { authToken: 'secret-1' },
    { headers: { 'X-API-Key': 'secret-1' } },
  ])('keeps the key out of errors: %o', async (options) => {
    const body = {
      type: 'error',
      error: { type: 'authentication_error', message: 'bad secret-1' },
    };
    const { fetch } = fetchOf([JSON.stringify(body)], { status: 401 });
    const { error } = await anthropic({ model, fetch, ...options }).complete({ items: [] });
    expect(error?.kind).toBe('auth');
    expect(error?.message).not.toContain('secret-1');
  });
});

describe('fields', () => {
  test('max_tokens is always there: the request’s, the options’, or what fits the model', async () => {
    const maxTokens = async (request: Partial<ModelRequest>, options: Partial<AnthropicOptions>) =>
      (await bodyOf({ items: [user('Hi')], ...request }, options))['max_tokens'];
    expect(await maxTokens({ maxOutputTokens: 7 }, { maxTokens: 8 })).toBe(7);
    expect(await maxTokens({}, { maxTokens: 8 })).toBe(8);
    expect(await maxTokens({}, {})).toBe(64_000);
    expect(await maxTokens({}, { model: 'claude-3-haiku-20240307' })).toBe(4096);
  });

  test('contain the settings, and providerOptions override them', async () => {
    const body = await bodyOf({
      items: [user('Hi')],
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ['END'],
      providerOptions: { anthropic: { temperature: 0.7, service_tier: 'auto' } },
    });
    expect(body).toEqual({
      model,
      max_tokens: 64_000,
      messages: [messageOf('user', words('Hi'))],
      stream: true,
      // No model accepts both.
      temperature: 0.7,
      stop_sequences: ['END'],
      service_tier: 'auto',
    });
    expect(await bodyOf({ items: [], topP: 0.9 })).toMatchObject({ top_p: 0.9 });
  });

  test('fault 1: later system items keep their position, so that the cached prefix stays', async () => {
    const items = [item('system', text('A')), item('developer', text('B'), text(' ')), user('Hi')];
    const first = await bodyOf({ items });
    expect(first).toMatchObject({
      system: [words('A'), words('B')],
      messages: [messageOf('user', words('Hi'))],
    });
    const later = await bodyOf({
      items: [...items, assistant(text('Hello')), item('system', text('Answer again.'))],
    });
    expect(later['system']).toEqual(first['system']);
    expect(later['messages']).toEqual([
      messageOf('user', words('Hi')),
      messageOf('assistant', words('Hello')),
      messageOf('user', words('<system>\nAnswer again.\n</system>')),
    ]);
  });

  test('fault 1: models with system messages get them where the API accepts them', async () => {
    const items = [
      item('system', text('A')),
      ...[user('Hi'), item('developer', text('B')), item('system', text('C'))],
      ...[assistant(text('Hello')), item('system', text('D')), user('Bye')],
      ...[item('system', text('E')), user('Really'), item('system', text('F'))],
    ];
    const messages = [
      messageOf('user', words('Hi')),
      messageOf('system', words('B'), words('C')),
      messageOf('assistant', words('Hello')),
      messageOf(
        'user',
        ...[words('<system>\nD\n</system>'), words('Bye')],
        ...[words('<system>\nE\n</system>'), words('Really')],
      ),
      messageOf('system', words('F')),
    ];
    const ofOpus = { model: 'claude-opus-4-8' };
    expect((await bodyOf({ items }, ofOpus))['messages']).toEqual(messages);
    // Other platforms of the same model may reject them.
    const elsewhere = await bodyOf({ items }, { ...ofOpus, baseUrl: 'https://gateway.example' });
    expect(JSON.stringify(elsewhere['messages'])).not.toContain('"role":"system"');
    const gateway = { ...ofOpus, baseUrl: 'https://gateway.example', systemMessages: true };
    expect((await bodyOf({ items }, gateway))['messages']).toEqual(messages);
  });

  test('fault 1: a model without prefill is asked to continue', async () => {
    const items = [user('Hi'), assistant(text('Once upon '))];
    const of = async (name: string) => (await bodyOf({ items }, { model: name }))['messages'];
    expect(await of('claude-opus-4-6')).toEqual([
      messageOf('user', words('Hi')),
      messageOf('assistant', words('Once upon ')),
      messageOf('user', words('Continue your answer exactly where it stopped.')),
    ]);
    expect(await of('claude-sonnet-4-5')).toEqual([
      messageOf('user', words('Hi')),
      messageOf('assistant', words('Once upon')),
    ]);
  });

  test('a system item can only be text', async () => {
    const picture: Part = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'url', url: 'https://a' },
    };
    await expect(send({ items: [item('system', picture)] })).rejects.toMatchObject({
      kind: 'invalid_request',
    });
  });
});

describe('tools', () => {
  const tools = [
    { name: 'tide', description: 'Tells the tide.', inputSchema: { properties: {} }, strict: true },
    { name: 'wind', inputSchema: { type: 'object' } },
  ];

  test('have an object schema, and hosted tools are added', async () => {
    const web = { type: 'web_search_20250305', name: 'web_search' } as const;
    const body = await bodyOf({ items: [user('Hi')], tools }, { extraTools: [web] });
    expect(body['tools']).toEqual([
      {
        name: 'tide',
        description: 'Tells the tide.',
        input_schema: {
          ...{ type: 'object', properties: {}, required: [] },
          additionalProperties: false,
        },
        strict: true,
      },
      { name: 'wind', input_schema: { type: 'object' } },
      web,
    ]);
    expect(body).not.toHaveProperty('tool_choice');
    const eager = await bodyOf({ items: [], tools }, { eagerInputStreaming: true });
    expect(eager['tools']).toMatchObject([
      { eager_input_streaming: true },
      { eager_input_streaming: true },
    ]);
  });

  test.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [{ name: 'tide' }, { type: 'tool', name: 'tide' }],
  ] as const)('are chosen: %o', async (toolChoice, expected) => {
    const body = await bodyOf({ items: [user('Hi')], tools, toolChoice });
    expect(body['tool_choice']).toEqual(expected);
    // The API rejects a choice without tools.
    expect(await bodyOf({ items: [user('Hi')], toolChoice: 'auto' })).not.toHaveProperty(
      'tool_choice',
    );
  });
});

describe('reasoning', () => {
  const thinking = async (
    reasoning: ReasoningEffort,
    options: Partial<AnthropicOptions>,
    request: Partial<ModelRequest> = {},
  ) => {
    const body = await bodyOf({ items: [user('Hi')], reasoning, ...request }, options);
    return { thinking: body['thinking'], config: body['output_config'], max: body['max_tokens'] };
  };
  const newer = { model: 'claude-opus-4-6' };

  test.each([
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['max', 'max'],
  ] as const)('%s is an effort of %s for newer models', async (reasoning, effort) => {
    expect(await thinking(reasoning, newer)).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized' },
      config: { effort },
    });
  });

  test.each([
    ['minimal', 1024],
    ['low', 4096],
    ['medium', 10_000],
    ['high', 20_000],
    ['max', 32_000],
  ] as const)(
    '%s is a budget of %i for older models, below max_tokens',
    async (reasoning, budget_tokens) => {
      expect(await thinking(reasoning, {})).toEqual({
        thinking: { type: 'enabled', budget_tokens },
        config: undefined,
        max: 64_000,
      });
    },
  );

  test('a budget leaves room for an answer, and there is none where it cannot', async () => {
    const within = (maxOutputTokens: number) => thinking('high', {}, { maxOutputTokens });
    expect(await within(8000)).toMatchObject({ thinking: { budget_tokens: 6000 }, max: 8000 });
    expect(await within(1200)).toMatchObject({ thinking: undefined, max: 1200 });
  });

  test('none turns it off, or as far down as the model allows', async () => {
    expect(await thinking('none', {})).toMatchObject({ thinking: { type: 'disabled' } });
    expect(await thinking('none', newer)).toMatchObject({ thinking: { type: 'disabled' } });
    expect(await thinking('none', { model: 'claude-fable-5' })).toMatchObject({
      thinking: undefined,
      config: { effort: 'low' },
    });
  });

  test('follows the options for models with an unknown name', async () => {
    expect(await thinking('low', { thinking: 'adaptive' })).toMatchObject({
      config: { effort: 'low' },
    });
    expect(await thinking('low', { ...newer, thinking: 'budget' })).toMatchObject({
      thinking: { type: 'enabled' },
    });
    expect(await thinking('low', { thinking: 'none' })).toMatchObject({ thinking: undefined });
    expect(await thinking('low', { model: 'claude-3-5-haiku-latest' })).toMatchObject({
      thinking: undefined,
    });
  });

  test('takes no temperature beside it, and some models never do', async () => {
    const temperature = { temperature: 0.5, topP: 0.5 };
    const items = [user('Hi')];
    const bodies = await Promise.all([
      bodyOf({ items, ...temperature, reasoning: 'low' }),
      bodyOf({ items, ...temperature, reasoning: 'low' }, newer),
      bodyOf({ items, ...temperature }, { model: 'claude-opus-4-7' }),
    ]);
    for (const body of bodies) {
      expect(body).not.toHaveProperty('temperature');
      expect(body).not.toHaveProperty('top_p');
    }
    expect(await bodyOf({ items, ...temperature, reasoning: 'none' })).toMatchObject({
      temperature: 0.5,
    });
  });

  test('is left out where a tool is forced, and off where it would be on by itself', async () => {
    const tools = [{ name: 'tide', inputSchema: {} }];
    const output = { name: 'answer', schema: {} };
    const off = { thinking: { type: 'disabled' } };
    for (const toolChoice of ['required', { name: 'tide' }] as const) {
      const forced = { tools, toolChoice };
      expect(await thinking('low', {}, forced)).toMatchObject({ thinking: undefined });
      expect(await thinking('low', newer, forced)).toMatchObject({
        ...off,
        config: { effort: 'low' },
      });
      const always = { model: 'claude-fable-5' };
      expect(await thinking('low', always, forced)).toMatchObject({ thinking: undefined });
    }
    const asTool = { ...newer, structuredOutput: 'tool' } as const;
    expect(await thinking('low', asTool, { output })).toMatchObject(off);
    const silent = await bodyOf({ items: [user('Hi')], tools, toolChoice: 'required' }, newer);
    expect(silent).toMatchObject(off);
    // The API rejects disabled thinking together with the highest effort.
    const most = await thinking('max', newer, { tools, toolChoice: 'required' });
    expect(most).toMatchObject({ ...off, config: { effort: 'high' } });
    const free = await thinking('low', newer, { tools, toolChoice: 'auto' });
    expect(free).toMatchObject({ thinking: { type: 'adaptive' } });
  });

  test('within a budget is left out in a turn that did not begin with thinking', async () => {
    const items = (...parts: readonly Part[]) => [
      user('Hi'),
      assistant(...parts, call('a')),
      item('tool', result('a', 'six')),
    ];
    const asked = (...parts: readonly Part[]) => thinking('low', {}, { items: items(...parts) });
    expect(await asked(text('Let me see'))).toMatchObject({ thinking: undefined });
    expect(await asked(signed('hm', 'x'))).toMatchObject({ thinking: { type: 'enabled' } });
    const next = { items: [...items(), user('And now?')] };
    // The results and the question form one user turn.
    expect(await thinking('low', {}, next)).toMatchObject({ thinking: undefined });
    const later = { items: [...items(), assistant(text('Six.')), user('And now?')] };
    expect(await thinking('low', {}, later)).toMatchObject({ thinking: { type: 'enabled' } });
    expect(await thinking('low', newer, { items: items() })).toMatchObject({
      thinking: { type: 'adaptive' },
    });
  });
});

describe('structured output', () => {
  const output = {
    name: 'answer',
    schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  };
  const items = [user('Hi')];
  const tools = [{ name: 'tide', inputSchema: {} }];
  const asTool = { structuredOutput: 'tool' } as const;

  test('is a format, beside an effort', async () => {
    const body = await bodyOf({ items, output, reasoning: 'low' }, { model: 'claude-opus-4-6' });
    expect(body['output_config']).toEqual({
      format: { type: 'json_schema', schema: output.schema },
      effort: 'low',
    });
  });

  test('is a forced tool on older models', async () => {
    const body = await bodyOf(
      { items, output, reasoning: 'low' },
      { model: 'claude-3-7-sonnet-latest' },
    );
    expect(body).toMatchObject({
      tools: [{ name: 'answer', input_schema: output.schema }],
      tool_choice: { type: 'tool', name: 'answer', disable_parallel_tool_use: true },
    });
    expect(body).not.toHaveProperty('output_config');
    expect(body).not.toHaveProperty('thinking');
  });

  test('as a tool stands beside other tools, of which some must be called', async () => {
    const choice = async (toolChoice?: ModelRequest['toolChoice']) =>
      (
        await bodyOf(
          { items, output, tools, ...(toolChoice === undefined ? {} : { toolChoice }) },
          asTool,
        )
      )['tool_choice'];
    const alone = { disable_parallel_tool_use: true };
    expect(await choice()).toEqual({ type: 'any', ...alone });
    expect(await choice('auto')).toEqual({ type: 'any', ...alone });
    expect(await choice({ name: 'tide' })).toEqual({ type: 'tool', name: 'tide', ...alone });
    expect(await choice('none')).toEqual({ type: 'tool', name: 'answer', ...alone });
  });

  test('as a tool has a name that fits and is free', async () => {
    const nameOf = async (name: string, taken: readonly string[] = []) => {
      const others = taken.map((one) => ({ name: one, inputSchema: {} }));
      const body = await bodyOf({ items, output: { ...output, name }, tools: others }, asTool);
      return (body['tools'] as readonly { name: string }[]).at(-1)?.name;
    };
    expect(await nameOf('my answer!')).toBe('my_answer_');
    expect(await nameOf('')).toBe('output');
    expect(await nameOf('answer', ['answer', 'answer_1'])).toBe('answer_2');
  });
});

describe('cache points', () => {
  const mark = { cache_control: { type: 'ephemeral' } };

  test('are on the last block of their items', async () => {
    const [system, first, second] = [item('system', text('S')), user('A'), user('B')];
    const upTo = [system.id, first.id];
    const body = await bodyOf({ items: [system, first, second], cache: { upTo } });
    expect(body).toMatchObject({
      system: [{ ...words('S'), ...mark }],
      messages: [messageOf('user', { ...words('A'), ...mark }, words('B'))],
    });
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(2);
  });

  test('may be long-lived', async () => {
    const one = user('A');
    const body = await bodyOf({ items: [one], cache: { upTo: [one.id], longLived: true } });
    expect(body['messages']).toEqual([
      messageOf('user', { ...words('A'), cache_control: { type: 'ephemeral', ttl: '1h' } }),
    ]);
  });

  test('are four at most: the first and the last three', async () => {
    const items = ['1', '2', '3', '4', '5', '6'].map(user);
    const body = await bodyOf({ items, cache: { upTo: items.map(({ id }) => id) } });
    const [{ content } = { content: [] }] = body['messages'] as readonly {
      content: readonly JsonObject[];
    }[];
    const marked = content
      .filter((block) => 'cache_control' in block)
      .map((block) => block['text']);
    expect(marked).toEqual(['1', '4', '5', '6']);
  });

  test('are not on thinking', async () => {
    const answer = assistant(text('a'), signed('hm', 'x'));
    const body = await bodyOf({
      items: [user('Hi'), answer, user('Go')],
      cache: { upTo: [answer.id] },
    });
    expect(body['messages']).toMatchObject([
      {},
      messageOf(
        'assistant',
        { ...words('a'), ...mark },
        { type: 'thinking', thinking: 'hm', signature: 'x' },
      ),
      {},
    ]);
  });

  test('are on the tools too, if one is left, because tools precede the instructions', async () => {
    const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
    const [system, first] = [item('system', text('S')), user('A')];
    const tools = [tool('a'), tool('b')];
    const cache = { upTo: [system.id, first.id] };
    const body = await bodyOf({ items: [system, first], tools, cache });
    expect(body['tools']).toMatchObject([{ name: 'a' }, { name: 'b', ...mark }]);
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(3);
    const many = ['1', '2', '3', '4'].map(user);
    const full = await bodyOf({ items: many, tools, cache: { upTo: many.map(({ id }) => id) } });
    expect(JSON.stringify(full['tools'])).not.toContain('cache_control');
    const none = await bodyOf({ items: [first], tools, cache: { upTo: [] } });
    expect(JSON.stringify(none)).not.toContain('cache_control');
  });

  test('are four at most together with those of hosted tools', async () => {
    const extraTools = [{ type: 'web_search_20250305', name: 'web_search', ...mark } as const];
    const items = ['1', '2', '3', '4', '5'].map(user);
    const cache = { upTo: items.map(({ id }) => id) };
    const body = await bodyOf({ items, cache }, { extraTools });
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
  });

  test('move to the block before, if their item has nothing to send', async () => {
    const [first, blank] = [user('A'), user(' ')];
    const body = await bodyOf({ items: [first, blank], cache: { upTo: [blank.id] } });
    expect(body['messages']).toEqual([messageOf('user', { ...words('A'), ...mark })]);
  });

  test('go with tool results', async () => {
    const results = item('tool', result('a', '1'), result('b', '2'));
    const items = [user('Hi'), assistant(call('a'), call('b')), results];
    const body = await bodyOf({ items, cache: { upTo: [results.id] } });
    expect(body['messages']).toMatchObject([
      {},
      {},
      messageOf('user', { tool_use_id: 'a' }, { tool_use_id: 'b', ...mark }),
    ]);
  });
});

describe('pictures and documents', () => {
  const bytes = new TextEncoder().encode('abc');
  const block = async (part: Part) => {
    const [{ content } = { content: [] }] = (await messagesOf([item('user', part)])) as {
      content: unknown[];
    }[];
    return content[0];
  };
  const media = (mimeType: string, source: JsonObject | { type: 'bytes'; bytes: Uint8Array }) =>
    ({ kind: 'media', mimeType, source }) as Part;
  const file = (mimeType: string, source: object, name = 'a.txt') =>
    ({ kind: 'file', name, mimeType, source }) as Part;

  test('are sent, or named by their address', async () => {
    expect(await block(media('image/jpg', { type: 'bytes', bytes }))).toEqual({
      type: 'image',
      source: { type: 'base64', media_type: 'image/jpeg', data: 'YWJj' },
    });
    expect(await block(media('image/png', { type: 'url', url: 'https://a.example/b' }))).toEqual({
      type: 'image',
      source: { type: 'url', url: 'https://a.example/b' },
    });
    expect(await block(file('application/pdf', { type: 'bytes', bytes }, 'a.pdf'))).toEqual({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'YWJj' },
      title: 'a.pdf',
    });
  });

  test('a data URL is sent as what is in it', async () => {
    expect(
      await block(media('image/png', { type: 'url', url: 'data:image/gif;base64,YWJj' })),
    ).toEqual({
      type: 'image',
      source: { type: 'base64', media_type: 'image/gif', data: 'YWJj' },
    });
  });

  test.each(['text/plain', 'text/csv', 'application/json', 'application/ld+json'])(
    'a file of %s is a document of text',
    async (mimeType) => {
      expect(await block(file(mimeType, { type: 'bytes', bytes }))).toEqual({
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'abc' },
        title: 'a.txt',
      });
    },
  );

  test('a file of text in a data URL is a document of text too', async () => {
    const source = { type: 'url', url: 'data:text/plain;base64,YWJj' };
    expect(await block(file('text/plain', source))).toMatchObject({
      type: 'document',
      source: { type: 'text', data: 'abc' },
    });
  });

  test.each([
    ['audio/wav', { type: 'bytes', bytes }, ''],
    ['application/zip', { type: 'bytes', bytes }, ''],
    ['image/tiff', { type: 'bytes', bytes }, ''],
    ['text/csv', { type: 'url', url: 'https://a.example/b' }, ', at https://a.example/b'],
  ])('of %s, which the API cannot read, are named', async (mimeType, source, place) => {
    const named = `[An attachment cannot be shown: "a.txt" (${mimeType})${place}]`;
    expect(await block(file(mimeType, source))).toEqual(words(named));
  });

  test('a file of white space is sent as text, because the API rejects such a document', async () => {
    const source = { type: 'bytes', bytes: new TextEncoder().encode(' \n') };
    expect(await block(file('text/plain', source))).toEqual(
      words('<file name="a.txt" type="text/plain">\n \n\n</file>'),
    );
  });

  test('a blob that is not loaded is rejected before it is sent', async () => {
    const part = media('image/png', { type: 'blob', hash: 'h', length: 1 });
    await expect(send({ items: [item('user', part)] })).rejects.toMatchObject({
      kind: 'invalid_request',
    });
  });
});

describe('messages', () => {
  test('of the same role in a row are merged', async () => {
    expect(
      await messagesOf([
        user('A'),
        item('context', text('B')),
        assistant(text('C')),
        assistant(text('D')),
        user('E'),
      ]),
    ).toEqual([
      messageOf('user', words('A'), words('B')),
      messageOf('assistant', words('C'), words('D')),
      messageOf('user', words('E')),
    ]);
  });

  test('begin with the user, also where the history does not', async () => {
    const begun = messageOf('user', { type: 'text', text: expect.stringMatching(/\S/) });
    expect(await messagesOf([assistant(text('A')), user('B')])).toEqual([
      begun,
      messageOf('assistant', words('A')),
      messageOf('user', words('B')),
    ]);
    expect(await messagesOf([item('system', text('S'))])).toEqual([begun]);
  });

  test('have no empty text', async () => {
    expect(
      await messagesOf([
        item('user', text(''), text(' \n'), text('A')),
        assistant(text(' ')),
        user('B'),
      ]),
    ).toEqual([messageOf('user', words('A'), words('B'))]);
  });

  test('the last assistant turn does not end in white space; all others can', async () => {
    expect(
      await messagesOf([
        user('A '),
        assistant(text('B \n')),
        user('C '),
        assistant(text(' D'), text('E \n')),
      ]),
    ).toEqual([
      messageOf('user', words('A ')),
      messageOf('assistant', words('B \n')),
      messageOf('user', words('C ')),
      messageOf('assistant', words(' D'), words('E')),
    ]);
  });

  test('structured parts are sent as JSON', async () => {
    const part: Part = { kind: 'structured', value: { a: 1 } };
    expect(await messagesOf([item('user', part), assistant(part), user('B')])).toMatchObject([
      messageOf('user', words('{"a":1}')),
      messageOf('assistant', words('{"a":1}')),
      {},
    ]);
  });

  test('pictures that another model made are named', async () => {
    const part: Part = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'url', url: 'https://a/b.png' },
    };
    expect(await messagesOf([user('A'), assistant(part), user('B')])).toMatchObject([
      {},
      messageOf('assistant', words('[image/png]')),
      {},
    ]);
  });
});

describe('tool results', () => {
  test('are in one user message, first, in the order of the calls, followed by the user’s text', async () => {
    const items = [
      user('Hi'),
      assistant(text('Both.'), call('a'), call('b')),
      item('tool', result('b', 'calm', { isError: true } as Partial<Part>)),
      user('Hurry'),
      item('tool', result('a', 'six')),
    ];
    const use = (id: string) => ({ type: 'tool_use', id, name: 'tide', input: { port: 'Brest' } });
    expect(await messagesOf(items)).toEqual([
      messageOf('user', words('Hi')),
      messageOf('assistant', words('Both.'), use('a'), use('b')),
      messageOf(
        'user',
        { type: 'tool_result', tool_use_id: 'a', content: 'six' },
        { type: 'tool_result', tool_use_id: 'b', content: 'calm', is_error: true },
        words('Hurry'),
      ),
    ]);
  });

  const only = async (part: Part) => {
    const messages = await messagesOf([user('Hi'), assistant(call('a')), item('tool', part)]);
    return (messages as { content: unknown[] }[])[2]?.content[0];
  };

  test('may be empty, unless they are errors', async () => {
    expect(await only(result('a', ''))).toEqual({ type: 'tool_result', tool_use_id: 'a' });
    expect(await only(result('a', '', { isError: true } as Partial<Part>))).toEqual({
      type: 'tool_result',
      tool_use_id: 'a',
      content: expect.stringMatching(/\S/),
      is_error: true,
    });
  });

  test('have their pictures and documents in them, and name what cannot be shown', async () => {
    const bytes = new TextEncoder().encode('abc');
    const attachments = [
      { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } },
      { kind: 'media', mimeType: 'audio/wav', source: { type: 'bytes', bytes } },
      {
        kind: 'file',
        name: 'all',
        mimeType: 'text/plain',
        source: { type: 'blob', hash: 'h', length: 9 },
      },
    ] as const;
    expect(await only(result('a', 'see', { attachments } as Partial<Part>))).toMatchObject({
      content: [
        words('see'),
        { type: 'image' },
        words('[An attachment cannot be shown: audio/wav]'),
      ],
    });
    expect(await only(result('a', ' ', { attachments } as Partial<Part>))).toMatchObject({
      content: [{ type: 'image' }, {}],
    });
  });

  test('never make a request invalid: unsupported attachments are named', async () => {
    const bytes = new TextEncoder().encode('abc');
    const url = { type: 'url', url: 'https://a.example/b' };
    const attachments = [
      { kind: 'media', mimeType: 'image/tiff', source: { type: 'bytes', bytes } },
      { kind: 'file', name: 'a.csv', mimeType: 'text/csv', source: url },
    ];
    const named = ['image/tiff', '"a.csv" (text/csv), at https://a.example/b'].map((what) =>
      words(`[An attachment cannot be shown: ${what}]`),
    );
    const blob = { type: 'blob', hash: 'h', length: 9 };
    const unloaded = { kind: 'media', mimeType: 'image/png', source: blob };
    const brought = { attachments: [...attachments, unloaded] } as Partial<Part>;
    expect(await only(result('a', 'see', brought))).toMatchObject({
      content: [words('see'), ...named],
    });
  });

  test('ids that the API does not take are replaced, in both places', async () => {
    const id = 'call|1:with spaces';
    const messages = await messagesOf([
      user('Hi'),
      assistant(call(id)),
      item('tool', result(id, 'six')),
    ]);
    const [, { content: [use] = [] } = {}, { content: [answer] = [] } = {}] = messages as {
      content: JsonObject[];
    }[];
    expect(use?.['id']).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(answer?.['tool_use_id']).toBe(use?.['id']);
  });

  test('E26, E28: arguments that are no object are sent as {}, and half characters replaced', async () => {
    const broken = { ...call('a'), arguments: '{"a', input: undefined } as unknown as Part;
    const halved = toolCallPart(toolCallId('b'), 'tide', { '\ud83c': ['x\ud83c'] });
    const messages = await messagesOf([user('Hi'), assistant(broken, halved), user('Go')]);
    expect(messages).toMatchObject([
      {},
      messageOf('assistant', { id: 'a', input: {} }, { id: 'b', input: { '\ufffd': ['x\ufffd'] } }),
      messageOf(
        'user',
        { tool_use_id: 'a', is_error: true },
        { tool_use_id: 'b', is_error: true },
        words('Go'),
      ),
    ]);
  });
});

describe('random histories', () => {
  const anyText = fc.oneof(fc.constantFrom('', ' ', '\n'), fc.string({ maxLength: 8 })).map(text);
  const ids = fc.constantFrom('a', 'b', 'c', 'toolu_1', 'not ok', 'x'.repeat(99));
  const anyCall = ids.map((id) => call(id));
  const anyResult = fc
    .tuple(ids, fc.string({ maxLength: 4 }), fc.boolean())
    .map(([id, words, isError]) => result(id, words, { isError } as Partial<Part>));
  const anyThinking = fc.constantFrom<Part>(
    signed('hm', 'x'),
    signed('', 'y'),
    { kind: 'reasoning', form: 'full', text: 'unsigned' },
    { kind: 'reasoning', form: 'redacted', text: '', providerState: state({ data: 'd' }) },
    { ...signed('cut', 'z'), partial: true },
    { ...signed('foreign', 'z'), providerState: { provider: 'other', model, data: {} } },
  );
  const anyHosted = fc.constantFrom(
    hosted({ type: 'server_tool_use', id: 's1', name: 'web_search', input: {} }),
    hosted({ type: 'server_tool_use', id: 's2', name: 'web_search', input: '{"cut' }),
  );
  const anyItem: fc.Arbitrary<Item> = fc.oneof(
    fc.array(anyText, { maxLength: 3 }).map((parts) => item('user', ...parts)),
    fc.array(anyText, { maxLength: 2 }).map((parts) => item('system', ...parts)),
    fc
      .array(fc.oneof(anyText, anyCall, anyThinking, anyHosted), { maxLength: 5 })
      .map((parts) => item('assistant', ...parts)),
    fc.array(anyResult, { maxLength: 3 }).map((parts) => item('tool', ...parts)),
  );

  test('become requests that break none of the rules', async () => {
    const asked = fc.record({
      items: fc.array(anyItem, { maxLength: 8 }),
      reasoning: fc.constantFrom<ReasoningEffort>('none', 'minimal', 'high', 'max'),
      temperature: fc.constant(0.5),
      maxOutputTokens: fc.constantFrom(100, 2000, 64_000),
    });
    const models = fc.constantFrom(model, 'claude-opus-4-6', 'claude-3-haiku-20240307', 'glm-4.6');
    await fc.assert(
      fc.asyncProperty(asked, models, async (request, name) => {
        const { body } = await send(request, { model: name });
        const known = [
          { signature: 'x', on: 'hm' },
          { signature: 'y', on: '' },
        ];
        expect(anthropicFaults(body, { signed: known })).toEqual([]);
      }),
    );
  });
});
