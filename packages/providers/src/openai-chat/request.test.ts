import {
  type Item,
  itemId,
  type JsonValue,
  type Part,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import { type ChatRules, chatFaults } from '../scripted-server/rules/openai-chat.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import type { ChatOptions, ChatPreset } from './options.ts';
import { presets } from './presets.ts';
import { openaiChat } from './provider.ts';

const item = (id: string, kind: Item['kind'], ...parts: Part[]): Item => ({
  id: itemId(id),
  kind,
  parts,
});
const text = (said: string): Part => ({ kind: 'text', text: said });
const user = item('u', 'user', text('Hello'));

async function sent(request: ModelRequest, options: Partial<ChatOptions> = {}) {
  const { fetch, requests } = fetchOf([]);
  const { error } = await openaiChat({ model: 'gpt-x', apiKey: 'k', fetch, ...options }).complete(
    request,
  );
  const [first] = requests;
  if (first === undefined) throw error ?? new Error('nothing was sent');
  return first;
}

const messagesOf = async (items: readonly Item[], options?: Partial<ChatOptions>) =>
  (await sent({ items }, options)).body['messages'];

test('asks for a stream with usage, with the key in its header and no compression', async () => {
  const { url, headers, body } = await sent({ items: [user] });
  expect(url).toBe('https://api.openai.com/v1/chat/completions');
  expect(headers.get('authorization')).toBe('Bearer k');
  expect(headers.get('accept-encoding')).toBe('identity');
  expect(body).toMatchObject({
    model: 'gpt-x',
    stream: true,
    stream_options: { include_usage: true },
  });
});

test('any base URL is taken, with or without a slash at its end, and needs no key', async () => {
  const options = { baseUrl: 'http://localhost:9/v1/', apiKey: undefined, model: 'm' };
  const { url, headers } = await sent({ items: [user] }, options);
  expect(url).toBe('http://localhost:9/v1/chat/completions');
  expect(headers.has('authorization')).toBe(false);
});

test('without a key the answer is an error that says how to give one', async () => {
  const { fetch, requests } = fetchOf([]);
  const provider = openaiChat({
    model: 'm',
    fetch,
    dialect: { keyVariables: ['MILLRACE_NO_SUCH_KEY'] },
  });
  const { error } = await provider.complete({ items: [user] });
  expect(error?.kind).toBe('auth');
  expect(error?.message).toContain('MILLRACE_NO_SUCH_KEY');
  expect(requests).toEqual([]);
});

test('Azure names the deployment in the URL and the key in a header of its own', async () => {
  const { url, headers } = await sent(
    { items: [user] },
    {
      preset: 'azure',
      model: 'my deployment',
      baseUrl: 'https://r.openai.azure.com/openai',
      dialect: { apiVersion: 'v9' },
    },
  );
  expect(url).toBe(
    'https://r.openai.azure.com/openai/deployments/my%20deployment/chat/completions?api-version=v9',
  );
  expect(headers.get('api-key')).toBe('k');
  expect(headers.has('authorization')).toBe(false);
});

describe('messages', () => {
  test('the developer’s role is said where it is known', async () => {
    const items = [item('s', 'system', text('a')), item('d', 'developer', text('b')), user];
    expect(await messagesOf(items)).toMatchObject([
      { role: 'system' },
      { role: 'developer' },
      { role: 'user' },
    ]);
    expect(await messagesOf(items, { preset: 'groq' })).toMatchObject([
      { role: 'system' },
      { role: 'system' },
      {},
    ]);
  });

  test('a user’s text alone is a string; pictures, sound and files make a list', async () => {
    const bytes = { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) } as const;
    const items = [
      user,
      item(
        'u2',
        'user',
        text('Look'),
        { kind: 'media', mimeType: 'image/png', source: bytes },
        { kind: 'media', mimeType: 'image/png', source: { type: 'url', url: 'https://a/b.png' } },
        { kind: 'media', mimeType: 'audio/mpeg', source: bytes },
        { kind: 'file', name: 'a.pdf', mimeType: 'application/pdf', source: bytes },
      ),
    ];
    const info = { inputs: ['image', 'pdf', 'audio'] } as const;
    expect(await messagesOf(items, { info })).toEqual([
      { role: 'user', content: 'Hello' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
          { type: 'image_url', image_url: { url: 'https://a/b.png' } },
          { type: 'input_audio', input_audio: { data: 'AQID', format: 'mp3' } },
          {
            type: 'file',
            file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AQID' },
          },
        ],
      },
    ]);
  });

  test.each(['system', 'developer'] as const)(
    'a picture in a %s item is an error: only a user can show one',
    async (kind) => {
      const bytes = { type: 'bytes', bytes: Uint8Array.of(1) } as const;
      const picture: Part = { kind: 'media', mimeType: 'image/png', source: bytes };
      await expect(
        sent({ items: [item('s', kind, text('Look'), picture), user] }),
      ).rejects.toMatchObject({ kind: 'invalid_request' });
    },
  );

  test('a blob that is not loaded is an error, and nothing is sent', async () => {
    const blob: Part = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'blob', hash: 'h', length: 1 },
    };
    await expect(sent({ items: [item('u', 'user', blob)] })).rejects.toMatchObject({
      kind: 'invalid_request',
    });
  });

  test('an assistant’s text is one string, its calls beside it, null where it said nothing', async () => {
    const call = toolCallPart(toolCallId('c1'), 'read', { path: 'a' });
    const items = [
      user,
      item('a1', 'assistant', text('One '), text('two'), call),
      item('t1', 'tool', {
        kind: 'tool_result',
        toolCallId: toolCallId('c1'),
        name: 'read',
        text: 'A',
        isError: false,
      }),
      item('a2', 'assistant', toolCallPart(toolCallId('c2'), 'read', {})),
    ];
    expect(await messagesOf(items)).toMatchObject([
      {},
      {
        content: 'One two',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'A' },
      { content: null },
      { role: 'tool', tool_call_id: 'c2' },
    ]);
    expect(await messagesOf(items, { preset: 'ollama' })).toMatchObject([
      {},
      {},
      {},
      { content: '' },
      {},
    ]);
  });

  test('pictures in a tool’s result are shown by a user after all results', async () => {
    const picture = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'url', url: 'https://a/b.png' },
    } as const;
    const result = (id: string, attachments?: (typeof picture)[]): Part => ({
      kind: 'tool_result',
      toolCallId: toolCallId(id),
      name: 'shot',
      text: '',
      isError: false,
      ...(attachments && { attachments }),
    });
    const items = [
      user,
      item(
        'a',
        'assistant',
        toolCallPart(toolCallId('c1'), 'shot', {}),
        toolCallPart(toolCallId('c2'), 'shot', {}),
      ),
      item('t', 'tool', result('c1', [picture]), result('c2')),
    ];
    expect(await messagesOf(items)).toMatchObject([
      {},
      {},
      { role: 'tool', content: '(see the attachment)' },
      { role: 'tool', content: '(no output)' },
      { role: 'user', content: [{ type: 'image_url' }] },
    ]);
  });
});

describe('reasoning goes back', () => {
  const reasoned = (preset: ChatPreset, data: JsonValue) => [
    user,
    item(
      'a',
      'assistant',
      {
        kind: 'reasoning',
        form: 'full',
        text: 'Hm',
        providerState: { provider: presets[preset].id, model: 'gpt-x', data },
      },
      text('Yes'),
    ),
    item('u2', 'user', text('And?')),
    item('a2', 'assistant', text('No')),
  ];
  const field = { field: 'reasoning_content' };

  test('not at all to OpenAI, nor to a provider that did not make it', async () => {
    expect(JSON.stringify(await messagesOf(reasoned('openai', field)))).not.toContain('Hm');
    expect(
      JSON.stringify(await messagesOf(reasoned('vllm', field), { preset: 'together' })),
    ).not.toContain('Hm');
  });

  test('under the field that it came in', async () => {
    const items = reasoned('llama.cpp', { field: 'reasoning' });
    expect(await messagesOf(items, { preset: 'llama.cpp' })).toMatchObject([
      {},
      { reasoning: 'Hm', content: 'Yes' },
      {},
      { content: 'No' },
    ]);
  });

  test('on every turn at DeepSeek, empty where there was none', async () => {
    const [, first, , second] = (await messagesOf(reasoned('deepseek', field), {
      preset: 'deepseek',
    })) as object[];
    expect(first).toMatchObject({ reasoning_content: 'Hm' });
    expect(second).toMatchObject({ reasoning_content: '' });
  });

  test('only since the last user where a server wants it so, as R1 does', async () => {
    const options = { preset: 'deepseek', dialect: { echoReasoning: 'field_since_user' } } as const;
    expect(JSON.stringify(await messagesOf(reasoned('deepseek', field), options))).not.toContain(
      'Hm',
    );
  });

  test('as merged details to OpenRouter', async () => {
    const details = [{ type: 'reasoning.text', text: 'Hm', signature: 's', index: 0 }];
    const messages = await messagesOf(reasoned('openrouter', { field: 'reasoning', details }), {
      preset: 'openrouter',
    });
    expect(messages).toMatchObject([{}, { reasoning_details: details }, {}, {}]);
  });
});

describe('settings', () => {
  const tool = {
    name: 'read',
    description: 'Reads',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    strict: true,
  };

  test('tools, choices, limits, output and cache key are said as the wire says them', async () => {
    const info = { efforts: ['low', 'xhigh'], sampling: 'always' } as const;
    const request: ModelRequest = {
      items: [user],
      tools: [tool],
      toolChoice: { name: 'read' },
      maxOutputTokens: 9,
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ['END'],
      reasoning: 'max',
      output: { name: 'out', schema: { type: 'object', properties: {} } },
      cache: { upTo: [], key: 'k1' },
      providerOptions: { openai: { seed: 7, temperature: 1 } },
    };
    const { body } = await sent(request, { info });
    expect(body).toMatchObject({
      tools: [
        {
          type: 'function',
          function: {
            ...{ name: 'read', strict: true },
            // Fault 2: OpenAI rejects a strict schema with optional or further properties.
            parameters: {
              ...{ type: 'object', properties: { path: { type: ['string', 'null'] } } },
              ...{ required: ['path'], additionalProperties: false },
            },
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'read' } },
      max_completion_tokens: 9,
      temperature: 1,
      top_p: 0.9,
      stop: ['END'],
      reasoning_effort: 'xhigh',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'out', strict: true, schema: { additionalProperties: false } },
      },
      prompt_cache_key: 'k1',
      seed: 7,
    });
  });

  test('gateways mark cache points for models that need marks, and only for them', async () => {
    const id = toolCallId('c1');
    const result: Part = {
      ...{ kind: 'tool_result', toolCallId: id, name: 'read', text: 'seen', isError: false },
    };
    const items = [
      ...[item('i', 'system', text('Be brief')), item('u', 'user', text('Look'))],
      item('a', 'assistant', toolCallPart(id, 'read', {})),
      ...[item('t', 'tool', result), item('v', 'user', text('And?'))],
    ];
    const cache = { upTo: [itemId('i'), itemId('t')], key: 's1' };
    const sentTo = async (preset: 'openrouter' | 'litellm' | 'openai', model: string) =>
      (await sent({ items, cache }, { preset, model })).body;
    const mark = { cache_control: { type: 'ephemeral' } };
    const parts = (said: string, more = {}) => [{ type: 'text', text: said, ...more }];
    for (const preset of ['openrouter', 'litellm'] as const) {
      const body = await sentTo(preset, 'anthropic/claude-sonnet-5');
      expect(body['messages']).toMatchObject([
        { role: 'system', content: parts('Be brief', mark) },
        { role: 'user', content: parts('Look') },
        { role: 'assistant' },
        { role: 'tool', ...mark },
        { role: 'user', content: parts('And?') },
      ]);
      expect(chatFaults(body)).toEqual([]);
      expect(body['session_id']).toBe(preset === 'openrouter' ? 's1' : undefined);
    }
    const plain = await sentTo('openrouter', 'deepseek/deepseek-v3');
    expect(JSON.stringify(plain)).not.toContain('cache_control');
    expect(plain['messages']).toMatchObject([
      { content: 'Be brief' },
      { content: 'Look' },
      {},
      {},
      {},
    ]);
    expect(await sentTo('openai', 'gpt-5')).toMatchObject({ prompt_cache_key: 's1' });
  });

  test.each([
    ['openrouter', { reasoning: { effort: 'low' } }],
    ['deepseek', { thinking: { type: 'enabled' } }],
    ['groq', { reasoning_effort: 'low' }],
  ] as const)('%s is asked to reason in its own way', async (preset, expected) => {
    const { body } = await sent({ items: [user], reasoning: 'low' }, { preset });
    expect(body).toMatchObject(expected);
  });

  test('Mistral and Groq send usage unasked, and are not asked', async () => {
    for (const preset of ['mistral', 'groq'] as const) {
      expect((await sent({ items: [user] }, { preset })).body).not.toHaveProperty('stream_options');
    }
  });
});

const rules: { readonly [Preset in ChatPreset]?: ChatRules } = {
  openai: { maxIdLength: 40 },
  azure: { maxIdLength: 40 },
  mistral: {
    idPattern: /^[a-zA-Z0-9]{9}$/,
    needsToolName: true,
    refusesNull: true,
    refusesStreamOptions: true,
  },
  deepseek: { needsReasoningContent: true, refusesNull: true },
  litellm: { needsToolsWithCalls: true },
  ollama: { refusesNull: true },
};

test.each(Object.keys(presets) as ChatPreset[])(
  'preset %s: a whole history is valid by its rules',
  async (preset) => {
    const items = [
      item('s', 'system', text('Be brief')),
      user,
      item(
        'a',
        'assistant',
        toolCallPart(toolCallId('call_12345678901234567890123456789012345678901'), 'read', {
          a: 1,
        }),
      ),
      item('u2', 'user', text('Wait')),
      item('a2', 'assistant', text('Yes')),
      item('u3', 'user', text('Go on')),
    ];
    const baseUrl = presets[preset].baseUrl ?? 'https://r.openai.azure.com';
    const { body } = await sent({ items }, { preset, baseUrl });
    expect(chatFaults(body as JsonValue, rules[preset])).toEqual([]);
  },
);
