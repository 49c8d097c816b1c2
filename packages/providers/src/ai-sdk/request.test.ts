import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import {
  countingIds,
  type Item,
  type ItemKind,
  itemId,
  type Part,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion } from '../contract/provider.ts';
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from './index.ts';

type Version = AiSdkModel['specificationVersion'];

const answer = [
  {
    type: 'finish',
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    finishReason: { unified: 'stop', raw: 'stop' },
  },
];

/** The options that a model of this version is called with, and the end of the call. */
async function sentOptions(
  request: Partial<ModelRequest>,
  options: AiSdkOptions = {},
  specificationVersion: Version = 'v4',
): Promise<{ readonly call: LanguageModelV4CallOptions; readonly end: Completion }> {
  let call: LanguageModelV4CallOptions = { prompt: [] };
  const model = {
    specificationVersion,
    provider: 'maker',
    modelId: 'm-1',
    supportedUrls: {},
    doStream: async (given: LanguageModelV4CallOptions) => {
      call = given;
      return { stream: ReadableStream.from(answer) };
    },
  } as unknown as LanguageModelV4;
  const provider = fromAiSdk(model, options);
  const end = await provider.complete({ items: [], ...request }, { ids: countingIds() });
  return { call, end };
}

let count = 0;
const item = (kind: ItemKind, ...parts: Part[]): Item => ({
  id: itemId(`i${++count}`),
  kind,
  parts,
});
const textPart = (text: string): Part => ({ kind: 'text', text });
const own = (data: object) => ({
  provider: 'maker',
  model: 'm-1',
  data: data as Record<string, never>,
});
const promptOf = async (items: readonly Item[], version?: Version) =>
  (await sentOptions({ items }, {}, version)).call.prompt;

describe('settings', () => {
  test('a minimal request has only the prompt', async () => {
    const { call } = await sentOptions({ items: [item('user', textPart('hi'))] });
    const { abortSignal, ...rest } = call;
    expect(abortSignal).toBeInstanceOf(AbortSignal);
    expect(rest).toEqual({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] });
  });

  test('each setting of a request is passed on', async () => {
    const { call } = await sentOptions(
      {
        maxOutputTokens: 9,
        temperature: 0.5,
        topP: 0.9,
        stopSequences: ['END'],
        reasoning: 'high',
        output: { name: 'city', schema: { type: 'object' } },
        providerOptions: { maker: { seed: 1 } },
      },
      { headers: { 'x-team': 'blue' } },
    );
    expect(call).toMatchObject({
      maxOutputTokens: 9,
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ['END'],
      reasoning: 'high',
      responseFormat: { type: 'json', name: 'city', schema: { type: 'object' } },
      providerOptions: { maker: { seed: 1 } },
      headers: { 'x-team': 'blue' },
    });
  });

  test('provider options that are not under a provider’s name are refused with the way to write them', async () => {
    const providerOptions = { seed: 1 } as never;
    const { end } = await sentOptions({ providerOptions });
    expect(end.error?.kind).toBe('invalid_request');
    expect(end.error?.message).toContain('providerOptions.seed');
    expect(end.usage.output).toBe(0);
  });

  const tools = [
    { name: 'read', description: 'reads', inputSchema: { type: 'object' }, strict: true },
  ];

  test('tools are function tools, followed by those that the provider runs', async () => {
    const search = { id: 'maker.search', name: 'search', args: { max: 3 } } as const;
    const { call } = await sentOptions({ tools }, { providerTools: [search] });
    expect(call.tools).toEqual([
      {
        type: 'function',
        name: 'read',
        description: 'reads',
        inputSchema: { type: 'object' },
        strict: true,
      },
      { type: 'provider', ...search },
    ]);
  });

  test.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [{ name: 'read' }, { type: 'tool', toolName: 'read' }],
  ] as const)(
    'the choice of a tool %o is sent as %o, and only where there are tools',
    async (toolChoice, sent) => {
      expect((await sentOptions({ tools, toolChoice })).call.toolChoice).toEqual(sent);
      expect((await sentOptions({ toolChoice })).call).not.toHaveProperty('toolChoice');
    },
  );

  test('the cache key is an option of OpenAI, and the caller’s own key is kept', async () => {
    const cache = { upTo: [], key: 'k' };
    const { call } = await sentOptions({ cache, providerOptions: { openai: { user: 'u' } } });
    expect(call.providerOptions).toEqual({ openai: { promptCacheKey: 'k', user: 'u' } });
    const own = { openai: { promptCacheKey: 'mine' } };
    expect((await sentOptions({ cache, providerOptions: own })).call.providerOptions).toEqual(own);
  });

  test('cache points are sent to the providers that support them', async () => {
    const first = item('system', textPart('rules'));
    const { call } = await sentOptions({
      items: [first, item('user', textPart('hi'))],
      cache: { upTo: [first.id], longLived: true },
    });
    expect(call.prompt).toEqual([
      {
        role: 'system',
        content: 'rules',
        providerOptions: {
          anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } },
          bedrock: { cachePoint: { type: 'default', ttl: '1h' } },
        },
      },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    ]);
  });
});

describe('the prompt', () => {
  test('instructions are system messages at the start, and user messages later', async () => {
    const prompt = await promptOf([
      item('system', textPart('a')),
      item('developer', textPart('b'), textPart('c')),
      item('user', textPart('hi')),
      item('system', textPart('late')),
    ]);
    expect(prompt).toEqual([
      { role: 'system', content: 'a' },
      { role: 'system', content: 'bc' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'user', content: [{ type: 'text', text: 'late' }] },
    ]);
  });

  test('a picture in an instruction is refused', async () => {
    const picture: Part = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'url', url: 'https://x.test/' },
    };
    const { end } = await sentOptions({ items: [item('system', picture)] });
    expect(end.error?.kind).toBe('invalid_request');
  });

  const bytes = new Uint8Array([1, 2, 3]);
  const files = [
    textPart('look'),
    { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } },
    {
      kind: 'file',
      name: 'a.pdf',
      mimeType: 'application/pdf',
      source: { type: 'url', url: 'https://x.test/a.pdf' },
    },
    { kind: 'structured', value: { a: 1 } },
  ] as const;

  test('media and files are file parts, structured values their JSON', async () => {
    const [message] = await promptOf([item('user', ...files)]);
    expect(message?.content).toEqual([
      { type: 'text', text: 'look' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
      {
        type: 'file',
        mediaType: 'application/pdf',
        filename: 'a.pdf',
        data: { type: 'url', url: new URL('https://x.test/a.pdf') },
      },
      { type: 'text', text: '{"a":1}' },
    ]);
  });

  test('text files are sent as text, and unsupported files are named', async () => {
    const file = (name: string, mimeType: string, content: string): Part => ({
      kind: 'file',
      name,
      mimeType,
      source: { type: 'bytes', bytes: new TextEncoder().encode(content) },
    });
    const [message] = await promptOf([
      item('user', file('a.csv', 'text/csv', '1,2'), file('b.zip', 'application/zip', 'PK')),
    ]);
    expect(message?.content).toEqual([
      { type: 'text', text: '<file name="a.csv" type="text/csv">\n1,2\n</file>' },
      { type: 'text', text: '[An attachment cannot be shown: "b.zip" (application/zip)]' },
    ]);
  });

  test.each([
    ['blob', { type: 'blob', hash: 'h', length: 1 }],
    ['address that is none', { type: 'url', url: 'nowhere' }],
  ] as const)('a file in a %s is refused before anything is sent', async (_, source) => {
    const { end, call } = await sentOptions({
      items: [item('user', { kind: 'media', mimeType: 'image/png', source })],
    });
    expect(end.error?.kind).toBe('invalid_request');
    expect(call.prompt).toEqual([]);
  });

  test('provider metadata goes back as the options of the same part', async () => {
    const prompt = await promptOf([
      item(
        'assistant',
        {
          kind: 'reasoning',
          text: 'hm',
          form: 'full',
          providerState: own({ maker: { signature: 's' } }),
        },
        {
          kind: 'reasoning',
          text: '',
          form: 'redacted',
          providerState: own({ maker: { redactedData: 'r' } }),
        },
        { kind: 'text', text: 'yes', providerState: own({ maker: { itemId: 'i' } }) },
        {
          ...toolCallPart(toolCallId('c'), 'read', { a: 1 }),
          providerState: own({ maker: { sig: 't' } }),
        },
      ),
      item('tool', {
        kind: 'tool_result',
        toolCallId: toolCallId('c'),
        name: 'read',
        text: 'ok',
        isError: false,
      }),
    ]);
    expect(prompt).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { maker: { signature: 's' } } },
          { type: 'reasoning', text: '', providerOptions: { maker: { redactedData: 'r' } } },
          { type: 'text', text: 'yes', providerOptions: { maker: { itemId: 'i' } } },
          {
            type: 'tool-call',
            toolCallId: 'c',
            toolName: 'read',
            input: { a: 1 },
            providerOptions: { maker: { sig: 't' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 'read',
            output: { type: 'text', value: 'ok' },
          },
        ],
      },
    ]);
  });

  test('the state of another provider or model is not sent', async () => {
    const foreign = { provider: 'maker', model: 'm-2', data: { maker: { signature: 's' } } };
    const prompt = await promptOf([
      item(
        'assistant',
        { kind: 'reasoning', text: 'hm', form: 'full', providerState: foreign },
        { kind: 'custom', name: 'tool-call', value: {}, providerState: foreign },
        { kind: 'text', text: 'yes', providerState: foreign },
      ),
    ]);
    expect(prompt).toEqual([{ role: 'assistant', content: [{ type: 'text', text: 'yes' }] }]);
  });

  test('results contain the error flag and their attachments', async () => {
    const ids = ['a', 'b', 'c'].map(toolCallId);
    const calls = ids.map((id) => toolCallPart(id, 'read', {}));
    const result = (place: number, fields: object): Part =>
      ({
        kind: 'tool_result',
        toolCallId: ids[place],
        name: 'read',
        isError: false,
        text: '',
        ...fields,
      }) as Part;
    const picture = { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } };
    const [, results] = await promptOf([
      item('assistant', ...calls),
      item(
        'tool',
        result(0, { text: 'no such file', isError: true }),
        result(1, {}),
        result(2, { text: 'seen', attachments: [picture] }),
      ),
    ]);
    expect(results).toMatchObject({
      role: 'tool',
      content: [
        { output: { type: 'error-text', value: 'no such file' } },
        { output: { type: 'text', value: '(no output)' } },
        {
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'seen' },
              { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
            ],
          },
        },
      ],
    });
  });
});

describe('hosted tools in the history', () => {
  const kept = (value: object): Part =>
    ({ kind: 'custom', name: 'x', value, providerState: own({ maker: { id: 'i' } }) }) as Part;
  const hostedCall = kept({
    type: 'tool-call',
    toolCallId: 's',
    toolName: 'search',
    input: '{"q":1}',
  });
  const hostedResult = (fields: object) =>
    kept({ type: 'tool-result', toolCallId: 's', toolName: 'search', ...fields });
  const providerOptions = { maker: { id: 'i' } };

  test.each([
    [{ result: { hits: 2 } }, { type: 'json', value: { hits: 2 } }],
    [{ result: 'two' }, { type: 'text', value: 'two' }],
    [
      { result: { code: 1 }, isError: true },
      { type: 'error-json', value: { code: 1 } },
    ],
  ])('a hosted call and its result %o go back inside the answer', async (fields, output) => {
    const prompt = await promptOf([
      item('assistant', hostedCall, hostedResult(fields), textPart('so')),
    ]);
    expect(prompt).toEqual([
      {
        role: 'assistant',
        content: [
          {
            type: 'tool-call',
            toolCallId: 's',
            toolName: 'search',
            input: { q: 1 },
            providerExecuted: true,
            providerOptions,
          },
          { type: 'tool-result', toolCallId: 's', toolName: 'search', output, providerOptions },
          { type: 'text', text: 'so' },
        ],
      },
    ]);
  });

  test('a hosted call that got no result goes back only while its answer may still go on', async () => {
    const paused = [item('user', textPart('hi')), item('assistant', textPart('so'), hostedCall)];
    expect((await promptOf(paused)).at(-1)?.content).toHaveLength(2);
    const [, answered] = await promptOf([...paused, item('user', textPart('and?'))]);
    expect(answered?.content).toEqual([{ type: 'text', text: 'so' }]);
  });

  test('a hosted result without its call is left out, and with it a message that has nothing else', async () => {
    expect(await promptOf([item('assistant', hostedResult({ result: 1 }))])).toEqual([]);
  });

  test('custom content and reasoning files go back; approval requests are left out', async () => {
    const [message] = await promptOf([
      item(
        'assistant',
        kept({ type: 'custom', kind: 'maker.compaction' }),
        kept({
          type: 'reasoning-file',
          mediaType: 'image/png',
          data: { type: 'data', data: 'AQID' },
        }),
        kept({
          type: 'reasoning-file',
          mediaType: 'image/png',
          data: { type: 'url', url: 'https://x.test/' },
        }),
        kept({ type: 'tool-approval-request', approvalId: 'p', toolCallId: 's' }),
      ),
    ]);
    const file = { type: 'reasoning-file', mediaType: 'image/png', providerOptions };
    expect(message?.content).toEqual([
      { type: 'custom', kind: 'maker.compaction', providerOptions },
      { ...file, data: { type: 'data', data: 'AQID' } },
      { ...file, data: { type: 'url', url: new URL('https://x.test/') } },
    ]);
  });
});

describe('models of earlier versions get their own format', () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const png: Part = { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } };
  const pdf: Part = {
    kind: 'file',
    name: 'a.pdf',
    mimeType: 'application/pdf',
    source: { type: 'url', url: 'https://x.test/a.pdf' },
  };
  const c = toolCallId('c');
  const history = [
    item('user', png, pdf),
    item(
      'assistant',
      { kind: 'custom', name: 'x', value: { type: 'custom', kind: 'a.b' }, providerState: own({}) },
      toolCallPart(c, 'read', {}),
    ),
    item('tool', {
      kind: 'tool_result',
      toolCallId: c,
      name: 'read',
      text: '',
      isError: false,
      attachments: [png, pdf],
    } as Part),
  ];

  test.each(['v2', 'v3'] as const)(
    '%s has data without tags, no custom parts and no reasoning effort',
    async (version) => {
      const { call } = await sentOptions({ items: history, reasoning: 'low' }, {}, version);
      expect(call).not.toHaveProperty('reasoning');
      const [user, assistant] = call.prompt;
      expect(user?.content).toEqual([
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        {
          type: 'file',
          mediaType: 'application/pdf',
          filename: 'a.pdf',
          data: new URL('https://x.test/a.pdf'),
        },
      ]);
      expect(assistant?.content).toEqual([
        { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: {} },
      ]);
    },
  );

  test.each([
    [
      'v3',
      [
        { type: 'image-data', data: 'AQID', mediaType: 'image/png' },
        { type: 'file-url', url: 'https://x.test/a.pdf' },
      ],
    ],
    [
      'v2',
      [
        { type: 'media', data: 'AQID', mediaType: 'image/png' },
        { type: 'text', text: 'https://x.test/a.pdf' },
      ],
    ],
  ] as const)('%s has its own kinds of files in results', async (version, value) => {
    const prompt = await promptOf(history, version);
    expect(prompt.at(-1)?.content).toMatchObject([{ output: { type: 'content', value } }]);
  });

  test('version 2 has another type for provider tools and no strict tools', async () => {
    const search = { id: 'maker.search', name: 'search', args: {} } as const;
    const tools = [{ name: 'read', inputSchema: {}, strict: true }];
    const { call } = await sentOptions({ tools }, { providerTools: [search] }, 'v2');
    expect(call.tools).toEqual([
      { type: 'function', name: 'read', inputSchema: {} },
      { type: 'provider-defined', ...search },
    ]);
  });
});
