import {
  countingIds,
  type Item,
  type JsonObject,
  type MediaPart,
  type Part,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import { responsesFaults } from '../scripted-server/rules/openai-responses.ts';
import { fetchOf, type SentRequest, sseOf } from '../testing/fetch-of.ts';
import type { ResponsesOptions } from './options.ts';
import { openaiResponses } from './provider.ts';

type Options = Partial<ResponsesOptions>;

const ended = [{ type: 'response.completed', response: { output: [] } }];

async function send(request: ModelRequest, options: Options = {}): Promise<SentRequest> {
  const { fetch, requests } = fetchOf([sseOf(ended)]);
  const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'sk-key', fetch, ...options });
  const { error } = await provider.complete(request);
  // The empty answer ignores a tool choice, which does not matter here.
  if (error !== undefined && error.kind !== 'model_output_invalid') throw error;
  const [sent] = requests;
  if (sent === undefined) throw new Error('nothing was sent');
  return sent;
}

async function failure(request: ModelRequest, options: Options = {}) {
  const { fetch, requests } = fetchOf([sseOf(ended)]);
  const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'k', fetch, ...options });
  const { error } = await provider.complete(request);
  return { error, isSent: requests.length > 0 };
}

const ids = countingIds();
const item = (kind: Item['kind'], ...parts: readonly Part[]): Item => ({
  id: ids.item(),
  kind,
  parts,
});
const said = (text: string): Part => ({ kind: 'text', text });
const user = (text: string): Item => item('user', said(text));
const state = (data: JsonObject, model = 'gpt-5.1') => ({
  providerState: { provider: 'openai-responses', model, data },
});
const call = (id: string, more: object = {}): Part => ({
  ...toolCallPart(toolCallId(id), 'get_tide', { port: 'Brest' }),
  ...more,
});
const result = (id: string, more: object = {}): Part => ({
  kind: 'tool_result',
  toolCallId: toolCallId(id),
  name: 'get_tide',
  text: 'six',
  isError: false,
  ...more,
});
const inputOf = async (items: readonly Item[], options?: Options) =>
  (await send({ items }, options)).body['input'];

describe('a request', () => {
  test('goes to /responses, with the key, as a stream that is not stored', async () => {
    const { url, headers, body } = await send({ items: [user('Hi')] });
    expect(url).toBe('https://api.openai.com/v1/responses');
    expect(headers.get('authorization')).toBe('Bearer sk-key');
    expect(headers.get('accept-encoding')).toBe('identity');
    expect(body).toEqual({
      model: 'gpt-5.1',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
    });
    expect(responsesFaults(body)).toEqual([]);
  });

  test('to Azure has its key in a header of its own, and a version in the URL', async () => {
    const azure: Options = { preset: 'azure', baseUrl: 'https://x.openai.azure.com/openai/' };
    const { url, headers } = await send({ items: [user('Hi')] }, azure);
    expect(url).toBe('https://x.openai.azure.com/openai/v1/responses?api-version=v1');
    expect([headers.get('api-key'), headers.get('authorization')]).toEqual(['sk-key', null]);
    const versioned = await send(
      { items: [user('Hi')] },
      {
        preset: 'azure',
        baseUrl: 'https://x.openai.azure.com/openai/v1',
        dialect: { apiVersion: 'preview' },
      },
    );
    expect(versioned.url).toBe(
      'https://x.openai.azure.com/openai/v1/responses?api-version=preview',
    );
  });

  test('to a server that is not known gets no key of the environment', async () => {
    const baseUrl = 'http://127.0.0.1:9/v1';
    const { fetch, requests } = fetchOf([sseOf(ended)]);
    const before = process.env['OPENAI_API_KEY'];
    process.env['OPENAI_API_KEY'] = 'sk-of-openai';
    try {
      await openaiResponses({ model: 'm', baseUrl, fetch }).complete({ items: [user('Hi')] });
      await openaiResponses({ model: 'm', fetch }).complete({ items: [user('Hi')] });
    } finally {
      if (before === undefined) Reflect.deleteProperty(process.env, 'OPENAI_API_KEY');
      else process.env['OPENAI_API_KEY'] = before;
    }
    expect(requests.map(({ url, headers }) => [url, headers.get('authorization')])).toEqual([
      ['http://127.0.0.1:9/v1/responses', null],
      ['https://api.openai.com/v1/responses', 'Bearer sk-of-openai'],
    ]);
  });

  test('without a key is an error that says where to put one', async () => {
    const { error, isSent } = await failure(
      { items: [] },
      { apiKey: undefined, dialect: { keyVariables: ['NO_SUCH_KEY'] } },
    );
    expect(error).toMatchObject({ code: 'auth' });
    expect(error?.message).toContain('NO_SUCH_KEY');
    expect(isSent).toBe(false);
  });

  test('has flat tools, whose strictness is always said', async () => {
    const inputSchema = { type: 'object', properties: { port: { type: 'string' } } };
    const { body } = await send({
      items: [user('Hi')],
      tools: [
        { name: 'get_tide', description: 'Tides', inputSchema },
        { name: 'get_wind', inputSchema, strict: true },
      ],
    });
    expect(body['tools']).toEqual([
      {
        type: 'function',
        name: 'get_tide',
        description: 'Tides',
        parameters: inputSchema,
        strict: false,
      },
      {
        ...{ type: 'function', name: 'get_wind', strict: true },
        // Fault 2: the API rejects a strict schema with optional or further properties.
        parameters: {
          ...{ type: 'object', properties: { port: { type: ['string', 'null'] } } },
          ...{ required: ['port'], additionalProperties: false },
        },
      },
    ]);
    expect(body).not.toHaveProperty('tool_choice');
    expect(responsesFaults(body)).toEqual([]);
  });

  test.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [{ name: 'get_tide' }, { type: 'function', name: 'get_tide' }],
    [{ name: 'sql' }, { type: 'custom', name: 'sql' }],
  ])('has the tool choice %j as %j', async (toolChoice, expected) => {
    const tools = [{ name: 'get_tide', inputSchema: {} }];
    const extraTools = [{ type: 'custom', name: 'sql' }] as const;
    const { body } = await send(
      { items: [user('Hi')], tools, toolChoice: toolChoice as 'auto' },
      { extraTools },
    );
    expect(body['tool_choice']).toEqual(expected);
  });

  test('has tools of the provider, which take the place of ours with the same name', async () => {
    const extraTools = [{ type: 'web_search' }, { type: 'custom', name: 'sql' }] as const;
    const tools = [{ name: 'sql', inputSchema: {} }];
    const { body } = await send(
      { items: [user('Hi')], tools },
      { extraTools, parallelToolCalls: false },
    );
    expect(body['tools']).toEqual(extraTools);
    expect(body['parallel_tool_calls']).toBe(false);
  });

  // The efforts of gpt-5.1. The tests of 19.11 cover other models.
  test.each([
    ['none', { effort: 'none' }],
    ['minimal', { effort: 'low', summary: 'auto' }],
    ['high', { effort: 'high', summary: 'auto' }],
    ['max', { effort: 'high', summary: 'auto' }],
  ] as const)('asks for %s reasoning by %j', async (reasoning, expected) => {
    const { body } = await send({ items: [user('Hi')], reasoning });
    expect(body['reasoning']).toEqual(expected);
  });

  test('asks for the summary that the options name, or for none', async () => {
    const request = { items: [user('Hi')], reasoning: 'low' } as const;
    const detailed = await send(request, { reasoningSummary: 'detailed' });
    expect(detailed.body['reasoning']).toEqual({ effort: 'low', summary: 'detailed' });
    const bare = await send(request, { reasoningSummary: 'none' });
    expect(bare.body['reasoning']).toEqual({ effort: 'low' });
  });

  test('asks models that do not reason for no encrypted reasoning, which they refuse', async () => {
    const include = async (model: string, options: Options = {}) =>
      (await send({ items: [user('Hi')] }, { model, ...options })).body['include'];
    for (const model of ['gpt-4o', 'gpt-4.1-mini', 'openai/gpt-4o', 'gpt-5-chat-latest']) {
      expect([model, await include(model)]).toEqual([model, undefined]);
    }
    for (const model of ['o3', 'gpt-5.1', 'gpt-5.1-codex', 'my-deployment']) {
      expect([model, await include(model)]).toEqual([model, ['reasoning.encrypted_content']]);
    }
    expect(await include('gpt-4o', { encryptedReasoning: true })).toHaveLength(1);
    expect(await include('gpt-5.1', { store: true })).toBeUndefined();
    expect(await include('gpt-5.1', { encryptedReasoning: false })).toBeUndefined();
  });

  test('fault 2: has a schema that is not enforced, and a warning, where it cannot be', async () => {
    const { fetch, requests } = fetchOf([sseOf(ended)]);
    const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'sk-key', fetch });
    const schema = { type: 'object', additionalProperties: { type: 'number' } };
    const completion = await provider.complete({
      items: [user('Hi')],
      output: { name: 'prices', schema },
    });
    expect(requests[0]?.body['text']).toEqual({
      format: { type: 'json_schema', name: 'prices', schema, strict: false },
    });
    expect(completion.warnings).toEqual([
      'The schema of prices is not enforced: # accepts any property',
    ]);
  });

  test('has a schema for its output, settings, and a key for the cache', async () => {
    const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
    const { body } = await send({
      items: [user('Hi')],
      output: { name: 'tide', schema },
      maxOutputTokens: 9,
      temperature: 0.5,
      topP: 0.9,
      cache: { upTo: [], key: 'k', longLived: true },
    });
    expect(body).toMatchObject({
      text: { format: { type: 'json_schema', name: 'tide', schema, strict: true } },
      max_output_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
    });
    expect(responsesFaults(body)).toEqual([]);
  });

  test('has a cache key only for servers that are known to take one', async () => {
    const keyFor = async (options: Options) => {
      const request = { items: [user('Hi')], cache: { upTo: [], key: 'k' } };
      return (await send(request, options)).body['prompt_cache_key'];
    };
    const baseUrl = 'https://x.example/v1';
    for (const preset of ['openai', 'azure', 'openrouter', 'xai'] as const)
      expect([preset, await keyFor({ preset, baseUrl })]).toEqual([preset, 'k']);
    for (const preset of ['compatible', 'lm-studio'] as const)
      expect([preset, await keyFor({ preset, baseUrl })]).toEqual([preset, undefined]);
  });

  test('asks for a long life of the cache only where that is known to be taken', async () => {
    const retention = async (options: Options) => {
      const request = { items: [user('Hi')], cache: { upTo: [], longLived: true } };
      return (await send(request, options)).body['prompt_cache_retention'];
    };
    for (const model of ['gpt-5.1', 'gpt-5.1-2025-11-13', 'gpt-4.1', 'gpt-5.1-codex-max']) {
      expect([model, await retention({ model })]).toEqual([model, '24h']);
    }
    for (const model of ['gpt-4o', 'gpt-4.1-mini', 'gpt-5-mini', 'o3', 'ft:gpt-4.1:acme']) {
      expect([model, await retention({ model })]).toEqual([model, undefined]);
    }
    const baseUrl = 'https://x.example/v1';
    for (const preset of ['azure', 'compatible', 'openrouter', 'xai', 'lm-studio'] as const) {
      expect([preset, await retention({ preset, baseUrl })]).toEqual([preset, undefined]);
    }
    expect(await retention({ baseUrl, dialect: { longCache: true } })).toBe('24h');
  });

  test('has the options of the caller over all else', async () => {
    const { body } = await send({
      items: [user('Hi')],
      temperature: 1,
      providerOptions: { openai: { temperature: 0, truncation: 'auto', store: true } },
    });
    expect(body).toMatchObject({ temperature: 0, truncation: 'auto', store: true });
    expect(body).not.toHaveProperty('include');
  });

  test('with stop sequences, which the API does not have, is refused before it is sent', async () => {
    const { error, isSent } = await failure({ items: [user('Hi')], stopSequences: ['END'] });
    expect(error).toMatchObject({ code: 'invalid_request' });
    expect(isSent).toBe(false);
    await send({ items: [user('Hi')], stopSequences: [] });
  });

  test('has system and developer messages, pictures and files', async () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const input = await inputOf([
      item('system', said('Be brief.')),
      item('developer', said('Really.')),
      item(
        'user',
        said('Look'),
        { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } },
        {
          kind: 'media',
          mimeType: 'image/png',
          source: { type: 'url', url: 'https://a.example/b' },
        },
        {
          kind: 'file',
          name: 'a.pdf',
          mimeType: 'application/pdf',
          source: { type: 'bytes', bytes },
        },
        {
          kind: 'file',
          name: 'b.pdf',
          mimeType: 'application/pdf',
          source: { type: 'url', url: 'https://a.example/b.pdf' },
        },
        { kind: 'structured', value: { a: 1 } },
      ),
    ]);
    expect(input).toEqual([
      { role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
      { role: 'developer', content: [{ type: 'input_text', text: 'Really.' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,AQID', detail: 'auto' },
          { type: 'input_image', image_url: 'https://a.example/b', detail: 'auto' },
          {
            type: 'input_file',
            filename: 'a.pdf',
            file_data: 'data:application/pdf;base64,AQID',
          },
          { type: 'input_file', file_url: 'https://a.example/b.pdf' },
          { type: 'input_text', text: '{"a":1}' },
        ],
      },
    ]);
  });

  const media = (mimeType: string, source: MediaPart['source']): MediaPart => ({
    kind: 'media',
    mimeType,
    source,
  });
  const bytes = { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) } as const;
  const blob = { type: 'blob', hash: 'sha256-1', length: 3 } as const;

  test('names attachments that the API does not accept, from any role', async () => {
    const attachments = [media('audio/wav', bytes), media('video/mp4', bytes)];
    const { body } = await send({
      items: [
        item('user', said('Hi'), media('application/zip', bytes)),
        item('assistant', said('Listen'), call('a'), media('audio/wav', bytes)),
        item('tool', result('a', { attachments })),
      ],
    });
    const named = (type: string, text: string) => ({
      type,
      text: `[An attachment cannot be shown: ${text}]`,
    });
    expect(body['input']).toMatchObject([
      { content: [{ type: 'input_text', text: 'Hi' }, named('input_text', 'application/zip')] },
      { content: [{ type: 'output_text', text: 'Listen' }, named('output_text', 'audio/wav')] },
      { type: 'function_call' },
      {
        output: [
          { type: 'input_text', text: 'six' },
          named('input_text', 'audio/wav'),
          named('input_text', 'video/mp4'),
        ],
      },
    ]);
    expect(responsesFaults(body)).toEqual([]);
  });

  test('does not fail of a blob that the assistant or a tool made', async () => {
    const made = { type: 'image_generation_call', id: 'ig_1', status: 'completed' };
    const own = state({ type: 'image_generation_call', id: 'ig_1' });
    const file = { ...media('application/pdf', blob), kind: 'file', name: 'a.pdf' } as const;
    const { body } = await send({
      items: [
        user('Hi'),
        item(
          'assistant',
          { kind: 'custom', name: 'image_generation_call', value: made, ...own },
          { ...media('image/png', blob), ...own },
          media('image/png', blob),
          call('a'),
        ),
        item('tool', result('a', { attachments: [media('image/png', blob), file] })),
      ],
    });
    // A picture without bytes is not sent back.
    expect(JSON.stringify(body)).not.toContain('ig_1');
    expect(responsesFaults(body)).toEqual([]);
  });

  test('with what the user gave in a blob is refused', async () => {
    const { error, isSent } = await failure({ items: [item('user', media('image/png', blob))] });
    expect(error).toMatchObject({ code: 'invalid_request' });
    expect(isSent).toBe(false);
  });

  test('tells files of text as text; documents go as they are, or by their address', async () => {
    const word = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
    const file = (name: string, mimeType: string, source: MediaPart['source']) =>
      ({ kind: 'file', name, mimeType, source }) as const;
    const abc = { type: 'bytes', bytes: new TextEncoder().encode('abc') } as const;
    const address = { type: 'url', url: 'https://a.example/b' } as const;
    const input = await inputOf([
      item(
        'user',
        file('a.csv', 'text/csv', abc),
        file('a.docx', word, bytes),
        file('b.csv', 'text/csv', address),
        file('b.zip', 'application/zip', address),
      ),
    ]);
    expect(input).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: '<file name="a.csv" type="text/csv">\nabc\n</file>' },
          { type: 'input_file', filename: 'a.docx', file_data: `data:${word};base64,AQID` },
          { type: 'input_file', file_url: 'https://a.example/b' },
          {
            type: 'input_text',
            text: '[An attachment cannot be shown: "b.zip" (application/zip), at https://a.example/b]',
          },
        ],
      },
    ]);
  });

  test('gives pictures of results as a list', async () => {
    const picture = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) },
    } as const;
    const input = await inputOf([
      item('assistant', call('a'), call('b'), call('c')),
      item(
        'tool',
        result('a'),
        result('b', { attachments: [picture] }),
        result('c', { text: '', attachments: [picture] }),
      ),
    ]);
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AQID', detail: 'auto' };
    expect(input).toMatchObject([
      { type: 'function_call', call_id: 'a' },
      { call_id: 'b' },
      { call_id: 'c' },
      { type: 'function_call_output', call_id: 'a', output: 'six' },
      { call_id: 'b', output: [{ type: 'input_text', text: 'six' }, image] },
      { call_id: 'c', output: [image] },
    ]);
  });
});

describe('replay', () => {
  const reasoning = (id: string, more: object = {}) => ({
    type: 'reasoning',
    id,
    summary: [{ type: 'summary_text', text: 'Hm' }],
    encrypted_content: `sealed-${id}`,
    ...more,
  });
  const thought = (data: JsonObject): Part => ({
    kind: 'reasoning',
    form: 'summary',
    text: 'Hm',
    ...state(data),
  });
  const fc = (id: string, origin?: JsonObject) =>
    state({ type: 'function_call', id, ...(origin ? { origin } : {}) });
  const next = { reasoning: 'rs_1', isNext: true };
  const later = { reasoning: 'rs_1', isNext: false };

  test('sends reasoning back as it came, right before what came out of it, with all ids', async () => {
    const input = await inputOf([
      item(
        'assistant',
        thought(reasoning('rs_1')),
        { kind: 'reasoning', form: 'summary', text: 'second summary' },
        call('a', fc('fc_1', next)),
        call('b', fc('fc_2', later)),
      ),
      item('tool', result('a'), result('b')),
    ]);
    const args = { type: 'function_call', name: 'get_tide', arguments: '{"port":"Brest"}' };
    expect(input).toEqual([
      reasoning('rs_1'),
      { ...args, id: 'fc_1', call_id: 'a' },
      { ...args, id: 'fc_2', call_id: 'b' },
      { type: 'function_call_output', call_id: 'a', output: 'six' },
      { type: 'function_call_output', call_id: 'b', output: 'six' },
    ]);
  });

  test('trap: the summary is required even where it is empty or was left out', async () => {
    const { summary: _summary, ...bare } = reasoning('rs_1');
    const input = await inputOf([item('assistant', thought(bare), call('a', fc('fc_1', next)))]);
    expect(input).toMatchObject([{ type: 'reasoning', summary: [] }, {}, {}]);
  });

  test('trap: reasoning that is not encrypted is not sent when nothing is stored, nor the ids of what came out of it', async () => {
    for (const encrypted_content of [null, '', undefined]) {
      const { encrypted_content: _sealed, ...bare } = reasoning('rs_1');
      const open = encrypted_content === undefined ? bare : { ...bare, encrypted_content };
      const parts = [thought(open), call('a', fc('fc_1', next))];
      const input = await inputOf([item('assistant', ...parts)]);
      expect(input).toEqual([
        {
          type: 'function_call',
          call_id: 'a',
          name: 'get_tide',
          arguments: '{"port":"Brest"}',
        },
        expect.objectContaining({ type: 'function_call_output' }),
      ]);
      const stored = await inputOf([item('assistant', ...parts)], { store: true });
      expect(stored).toMatchObject([bare, { id: 'fc_1' }, {}]);
    }
  });

  test('trap: reasoning whose follower is gone is not sent', async () => {
    const gone = { reasoning: 'rs_2', isNext: true };
    const input = await inputOf([
      item('assistant', thought(reasoning('rs_1')), {
        ...said('cut'),
        partial: true,
        ...state({ type: 'message', id: 'msg_1', origin: next }),
      }),
      item(
        'assistant',
        thought(reasoning('rs_1')),
        thought(reasoning('rs_2')),
        call('a', fc('fc_1', gone)),
      ),
      item('tool', result('a')),
      item('assistant', said('bye'), thought(reasoning('rs_3'))),
    ]);
    expect(input).toMatchObject([
      { type: 'message', content: [{ text: 'cut' }] },
      // Reasoning before reasoning is valid: one led to the other.
      { id: 'rs_1' },
      { id: 'rs_2' },
      { id: 'fc_1' },
      { type: 'function_call_output' },
      { type: 'message', content: [{ text: 'bye' }] },
    ]);
  });

  test('trap: a call whose reasoning was stripped goes without its id', async () => {
    const input = await inputOf([item('assistant', call('a', fc('fc_1', next)))]);
    expect(input).toMatchObject([{ type: 'function_call', call_id: 'a' }, {}]);
    expect(JSON.stringify(input)).not.toContain('fc_1');
  });

  test('a call that came without reasoning keeps its id', async () => {
    const input = await inputOf([item('assistant', call('a', fc('fc_1')))]);
    expect(input).toMatchObject([{ type: 'function_call', id: 'fc_1' }, {}]);
  });

  test('trap: for another model there is no reasoning and no id', async () => {
    const foreign = (data: JsonObject) => state(data, 'gpt-4o');
    const input = await inputOf([
      item(
        'assistant',
        { ...thought(reasoning('rs_1')), ...foreign(reasoning('rs_1')) },
        { ...said('Six.'), ...foreign({ type: 'message', id: 'msg_1', phase: 'commentary' }) },
        call('a', foreign({ type: 'function_call', id: 'fc_1' })),
        { kind: 'custom', name: 'web_search_call', value: {}, ...foreign({}) },
      ),
      item('tool', result('a')),
    ]);
    expect(input).toEqual([
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Six.', annotations: [] }],
      },
      { type: 'function_call', call_id: 'a', name: 'get_tide', arguments: '{"port":"Brest"}' },
      { type: 'function_call_output', call_id: 'a', output: 'six' },
    ]);
  });

  test('messages keep id, phase and the parts of their content', async () => {
    const of = (id: string, phase: string) => state({ type: 'message', id, phase });
    const input = await inputOf([
      item(
        'assistant',
        { ...said('One'), ...of('msg_1', 'commentary') },
        { ...said('two'), ...of('msg_1', 'commentary') },
        { ...said('No'), metadata: { refusal: true }, ...of('msg_2', 'final_answer') },
        { kind: 'structured', value: { a: 1 }, ...of('msg_3', 'final_answer') },
      ),
    ]);
    expect(input).toEqual([
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        phase: 'commentary',
        status: 'completed',
        content: [
          { type: 'output_text', text: 'One', annotations: [] },
          { type: 'output_text', text: 'two', annotations: [] },
        ],
      },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_2',
        phase: 'final_answer',
        status: 'completed',
        content: [{ type: 'refusal', refusal: 'No' }],
      },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_3',
        phase: 'final_answer',
        status: 'completed',
        content: [{ type: 'output_text', text: '{"a":1}', annotations: [] }],
      },
    ]);
  });

  test('reasoning goes back without what it has as null', async () => {
    const items = [
      item(
        'assistant',
        thought(reasoning('rs_1', { status: null, content: null })),
        call('a', fc('fc_1', next)),
      ),
    ];
    expect(await inputOf(items)).toMatchObject([{ id: 'rs_1' }, {}, {}]);
    const [first] = (await inputOf(items)) as readonly JsonObject[];
    expect(first).toEqual(reasoning('rs_1'));
  });

  test('servers that are not OpenAI get messages with ids, their own or, the same each time, ours', async () => {
    const baseUrl = 'http://127.0.0.1:9/v1';
    const own = (data: JsonObject) => ({
      providerState: { provider: 'compatible-responses@127.0.0.1:9', model: 'gpt-5.1', data },
    });
    const items = [
      item('assistant', said('One')),
      item('assistant', { ...said('two'), ...own({ type: 'message', id: 'msg_own' }) }),
      item('assistant', {
        ...said('three'),
        ...own({ type: 'message', id: 'msg_gone', origin: { reasoning: 'rs_0', isNext: true } }),
      }),
    ];
    const idsOf = async (given: readonly Item[], options: Options) => {
      const input = (await inputOf(given, options)) as readonly JsonObject[];
      return input.flatMap(({ role, id }) => (role === 'assistant' ? [id] : []));
    };
    const ids = await idsOf(items, { baseUrl });
    expect(ids).toEqual([
      expect.stringMatching(/^msg_/),
      'msg_own',
      expect.stringMatching(/^msg_/),
    ]);
    expect(new Set([...ids, 'msg_gone']).size).toBe(4);
    expect(await idsOf([...items, item('assistant', said('four'))], { baseUrl })).toEqual([
      ...ids,
      expect.stringMatching(/^msg_/),
    ]);
    expect(await idsOf(items, {})).toEqual([undefined, undefined, undefined]);
  });

  test('what one unknown server made is not sent to another with a model of the same name', async () => {
    const output = [
      reasoning('rs_1'),
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'message', id: 'msg_secret', content: [{ type: 'output_text', text: 'Six.' }] },
    ];
    const events = [{ type: 'response.completed', response: { output } }];
    const at = (baseUrl: string) => {
      const { fetch, requests } = fetchOf([sseOf(events)]);
      return { requests, provider: openaiResponses({ model: 'm', baseUrl, fetch }) };
    };
    const first = at('http://127.0.0.1:9/v1');
    const other = at('http://127.0.0.1:10/v1');
    const again = at('http://127.0.0.1:9/v1/');
    const heard = await first.provider.complete({ items: [user('Hi')] }, { ids: countingIds() });
    for (const { provider } of [other, again]) {
      await provider.complete({ items: [user('Hi'), heard.item] });
    }
    const sent = (requests: readonly SentRequest[]) => JSON.stringify(requests.at(-1)?.body);
    expect(sent(again.requests)).toContain('sealed-rs_1');
    expect(sent(again.requests)).toContain('msg_secret');
    for (const own of ['rs_1', 'ws_1', 'msg_secret']) {
      expect(sent(other.requests)).not.toContain(own);
    }
    expect(first.provider.id).toBe('compatible-responses@127.0.0.1:9');
    const named = openaiResponses({
      model: 'm',
      baseUrl: 'http://a.example',
      dialect: { id: 'a' },
    });
    expect(named.id).toBe('a');
  });

  test('messages without ids are distinguished by their phase', async () => {
    const input = await inputOf([
      item(
        'assistant',
        { ...said('One'), ...state({ type: 'message', phase: 'commentary' }) },
        { ...said('two'), ...state({ type: 'message', phase: 'final_answer' }) },
      ),
    ]);
    expect(input).toMatchObject([{ phase: 'commentary' }, { phase: 'final_answer' }]);
  });

  test('trap: calls are never sent as references, also when they are stored', async () => {
    const items = [item('assistant', call('a', fc('fc_1'))), item('tool', result('a'))];
    const input = await inputOf(items, { store: true });
    expect(input).toMatchObject([{ type: 'function_call', id: 'fc_1' }, {}]);
  });

  test('calls of custom tools go back as text, and so do their results', async () => {
    const input = await inputOf([
      item('assistant', {
        ...toolCallPart(toolCallId('a'), 'sql', { input: 'SELECT 1' }),
        ...state({ type: 'custom_tool_call', id: 'ctc_1' }),
      }),
      item('tool', result('a')),
    ]);
    expect(input).toEqual([
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'a', name: 'sql', input: 'SELECT 1' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'six' },
    ]);
  });

  test('hosted items go back whole, unless they were under way or nobody answered them', async () => {
    const custom = (value: JsonObject): Part => ({
      kind: 'custom',
      name: String(value['type']),
      value,
      ...state({ type: String(value['type']) }),
    });
    const shell = { type: 'shell_call', id: 'sh_1', call_id: 'call_s', status: 'completed' };
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    const items = [search, { ...search, id: 'ws_2', status: 'in_progress' }, shell];
    expect(await inputOf([item('assistant', ...items.map(custom))])).toEqual([search]);
    const output = { type: 'shell_call_output', call_id: 'call_s', output: [] };
    const answered = [...items, output].map(custom);
    expect(await inputOf([item('assistant', ...answered)])).toEqual([search, shell, output]);
  });

  test('hosted items whose reasoning does not go back stay behind: their id is required', async () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    const hosted = (origin: JsonObject): Part => ({
      kind: 'custom',
      name: 'web_search_call',
      value: search,
      ...state({ type: 'web_search_call', id: 'ws_1', origin }),
    });
    const answer = (origin: JsonObject): Part => ({
      ...said('Six.'),
      ...state({ type: 'message', id: 'msg_1', origin }),
    });
    const bare = reasoning('rs_1', { encrypted_content: null });
    const input = await inputOf([item('assistant', thought(bare), hosted(next), answer(later))]);
    expect(input).toMatchObject([{ type: 'message', content: [{ text: 'Six.' }] }]);
    expect(JSON.stringify(input)).not.toMatch(/ws_1|msg_1|rs_1/);
    const sealed = thought(reasoning('rs_1'));
    expect(await inputOf([item('assistant', sealed, hosted(next), answer(later))])).toMatchObject([
      { id: 'rs_1' },
      search,
      { id: 'msg_1' },
    ]);
  });

  test('pictures go back into the call that made them', async () => {
    const made = { type: 'image_generation_call', id: 'ig_1', status: 'completed' };
    const bytes = Uint8Array.of(1, 2, 3);
    const of: Part = {
      kind: 'custom',
      name: 'image_generation_call',
      value: made,
      ...state({ type: 'image_generation_call', id: 'ig_1' }),
    };
    const picture: Part = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'bytes', bytes },
      ...state({ type: 'image_generation_call', id: 'ig_1' }),
    };
    expect(await inputOf([item('assistant', of, picture)])).toEqual([{ ...made, result: 'AQID' }]);
    expect(await inputOf([user('Hi'), item('assistant', of)])).toHaveLength(1);
  });

  test('pictures of another model are shown, before the calls, and half ones are not', async () => {
    const picture = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) },
    } as const;
    const input = await inputOf([
      item('assistant', call('a'), picture, { ...picture, partial: true }),
    ]);
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AQID', detail: 'auto' };
    expect(input).toMatchObject([
      { role: 'user', content: [image] },
      { type: 'function_call' },
      { type: 'function_call_output' },
    ]);
  });

  test('trap: servers of open models get reasoning in plain, before each call of several', async () => {
    const plain = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ text: 'Hm' }] };
    const own = (data: JsonObject) => ({
      providerState: { provider: 'lm-studio-responses', model: 'gpt-5.1', data },
    });
    const input = await inputOf(
      [
        item(
          'assistant',
          { kind: 'reasoning', form: 'full', text: 'Hm', ...own(plain) },
          call('a', own({ type: 'function_call', id: 'fc_1', origin: next })),
          call('b', own({ type: 'function_call', id: 'fc_2', origin: later })),
        ),
        item('tool', result('a'), result('b')),
      ],
      { preset: 'lm-studio' },
    );
    expect(input).toMatchObject([plain, { id: 'fc_1' }, plain, { id: 'fc_2' }, {}, {}]);
  });

  test('E26: arguments that are not JSON go back as {}, with a result that says so', async () => {
    const bad: Part = {
      kind: 'tool_call',
      toolCallId: toolCallId('a'),
      name: 'get_tide',
      arguments: '{"po',
    };
    const input = await inputOf([item('assistant', bad)]);
    expect(input).toMatchObject([
      { arguments: '{}' },
      { output: expect.stringContaining('not a JSON object') },
    ]);
  });

  test('E28: half a surrogate pair is replaced, except in what is encrypted', async () => {
    const sealed = reasoning('rs_1', { encrypted_content: 'x\ud83d' });
    const { body } = await send({
      items: [user('a\ud83d'), item('assistant', thought(sealed), call('a', fc('fc_1', next)))],
    });
    expect(body['input']).toMatchObject([
      { content: [{ text: 'a\ufffd' }] },
      { encrypted_content: 'x\ud83d' },
      {},
      {},
    ]);
  });

  test('what a provider said comes back to it item by item, as its rules want it', async () => {
    const output = [
      reasoning('rs_1'),
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'tide' } },
      reasoning('rs_2', { summary: [] }),
      {
        type: 'message',
        id: 'msg_1',
        phase: 'commentary',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Let me see.', annotations: [] }],
      },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'get_tide',
        arguments: '{ "port": "Brest" }',
      },
      {
        type: 'custom_tool_call',
        id: 'ctc_1',
        call_id: 'call_2',
        name: 'sql',
        input: 'SELECT "a"',
      },
    ];
    const events = [{ type: 'response.completed', response: { output } }];
    const { fetch, requests } = fetchOf([sseOf(events)]);
    const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'k', fetch });
    const first = await provider.complete({ items: [user('Hi')] }, { ids: countingIds() });
    const results = item('tool', result('call_1'), result('call_2'));
    await provider.complete({ items: [user('Hi'), first.item, results] });
    const body = requests[1]?.body ?? {};
    expect((body['input'] as readonly object[]).slice(1, -2)).toEqual(output);
    expect(responsesFaults(body)).toEqual([]);
  });
});
