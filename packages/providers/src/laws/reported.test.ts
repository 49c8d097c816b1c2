import {
  alternativesOf,
  groundingOf,
  type JsonObject,
  logprobsOf,
  type Usage,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion, Provider } from '../contract/provider.ts';
import { gemini, vertex } from '../gemini/provider.ts';
import type { ChatPreset } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { frameRecording } from '../scripted-server/framing/frame-recording.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { play } from '../testing/play.ts';
import { hasSharedRecordings, recordingsOf, type Wire } from '../testing/recordings.ts';
import { wireTable } from '../testing/wire-table.ts';

// Report 19, "Lost on the way in": what a provider says beside its answer has a place.

type Kept = Partial<Omit<Completion, 'usage'>> & { readonly usage?: Partial<Usage> };

/** The data that each wire must keep from a real recording. The last response of the file counts. */
const recorded: readonly (readonly [Wire, string, Kept])[] = [
  [
    'anthropic',
    'anthropic-code-execution-20250825.1',
    {
      details: {
        model: 'claude-sonnet-4-5-20250929',
        container: {
          id: 'container_011CU6pTr2hLT47seQ5Xs4yj',
          expiresAt: '2025-10-14T10:02:00.044495Z',
        },
        serviceTier: 'standard',
      },
    },
  ],
  ['anthropic', 'anthropic-web-fetch-tool.1', { usage: { billed: { web_fetch_requests: 1 } } }],
  ['anthropic', 'anthropic-text', { details: { serviceTier: 'standard' } }],
  [
    'openai-chat',
    'groq-tool-call',
    {
      details: {
        fingerprint: 'fp_f8b414701e',
        timings: { queueMs: 41.52, inputMs: 10.408, outputMs: 46.601, totalMs: 57.009 },
      },
    },
  ],
  ['openai-chat', 'openai-text', { details: { serviceTier: 'default' } }],
  [
    'openai-responses',
    'azure-text.1',
    {
      details: {
        serviceTier: 'default',
        timings: { totalMs: 2000 },
        safety: [
          { about: 'input', category: 'self_harm', level: 'safe', blocked: false },
          { about: 'input', category: 'sexual', level: 'safe', blocked: false },
          { about: 'input', category: 'violence', level: 'safe', blocked: false },
          { about: 'input', category: 'jailbreak', flagged: false, blocked: false },
          { about: 'input', category: 'hate', level: 'safe', blocked: false },
          { about: 'output', category: 'hate', level: 'safe', blocked: false },
          { about: 'output', category: 'sexual', level: 'safe', blocked: false },
          { about: 'output', category: 'self_harm', level: 'safe', blocked: false },
          { about: 'output', category: 'violence', level: 'safe', blocked: false },
          { about: 'output', category: 'protected_material_text', flagged: false, blocked: false },
          { about: 'output', category: 'protected_material_code', flagged: false, blocked: false },
        ],
      },
    },
  ],
  [
    'openai-responses',
    'xai-web-search-tool.1',
    { usage: { billed: { num_server_side_tools_used: 1 } } },
  ],
  ['gemini', 'google-stream-tool-call-arguments', { details: { serviceTier: 'ON_DEMAND' } }],
];

describe.skipIf(!hasSharedRecordings)('19: a real stream keeps what its provider reports', () => {
  test.each(recorded)('%s: %s', async (wire, name, kept) => {
    const under = wireTable.find((one) => one.wire === wire);
    const recording = recordingsOf(wire).find((one) => one.name === name);
    const lines = recording?.responses.at(-1);
    if (under === undefined || lines === undefined)
      throw new Error(`There is no recording ${name}`);
    const { completion } = await play(under, name, [frameRecording(wire, lines)]);
    expect(completion).toMatchObject(kept);
  });
});

type Options = { readonly fetch: typeof fetch; readonly apiKey: string };
const items = [{ id: 'u', kind: 'user', parts: [{ kind: 'text', text: 'Weather?' }] }] as never;

async function answered(
  create: (options: Options) => Provider,
  events: readonly object[],
  request: Partial<ModelRequest> = {},
): Promise<{ readonly completion: Completion; readonly body: JsonObject }> {
  const { fetch, requests } = fetchOf([sseOf(events)]);
  const completion = await create({ fetch, apiKey: 'key' }).complete({ items, ...request });
  return { completion, body: (requests[0]?.body ?? {}) as JsonObject };
}

const chat =
  (preset: ChatPreset = 'openai') =>
  (options: Options) =>
    openaiChat({ model: 'any', preset, baseUrl: 'https://api.example/v1', ...options });
const responses = (options: Options) => openaiResponses({ model: 'any', ...options });
const google = (options: Options) => gemini({ model: 'gemini-3-pro', ...options });
const claude = (options: Options) => anthropic({ model: 'claude-sonnet-4-5', ...options });

const chatEnd = (choice: object = {}, chunk: object = {}) => ({
  choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...choice }],
  ...chunk,
});
const chatText = (content: string, choice: object = {}) => ({
  choices: [{ index: 0, delta: { content }, ...choice }],
});
const completed = (response: object, content: object = {}) => [
  {
    type: 'response.completed',
    response: {
      id: 'r1',
      status: 'completed',
      output: [
        {
          type: 'message',
          id: 'm1',
          content: [{ type: 'output_text', text: 'Sunny', ...content }],
        },
      ],
      ...response,
    },
  },
];
const candidate = (fields: object, response: object = {}) => ({
  candidates: [
    { index: 0, content: { parts: [{ text: 'Sunny' }] }, finishReason: 'STOP', ...fields },
  ],
  ...response,
});
const message = (delta: object, usage: object = {}) => [
  { type: 'message_start', message: { id: 'm1', model: 'claude', content: [], usage: {} } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', ...delta }, usage },
  { type: 'message_stop' },
];

const moderation = {
  input: {
    type: 'moderation_results',
    results: [{ categories: { violence: true }, category_scores: { violence: 0.75 } }],
  },
  output: { type: 'error', code: 'unavailable', message: 'later' },
};
const flagged = { about: 'input', category: 'violence', flagged: true, score: 0.75 } as const;

/** Minimal streams in the documented formats, for what no recording shows. */
const written: readonly (readonly [
  what: string,
  create: (options: Options) => Provider,
  events: readonly object[],
  kept: Kept,
])[] = [
  [
    'Anthropic: the stop sequence that matched',
    claude,
    message({ stop_reason: 'stop_sequence', stop_sequence: 'END' }),
    { details: { model: 'claude', responseId: 'm1', stopSequence: 'END' } },
  ],
  [
    'Anthropic: searches, the tier, and cache writes by lifetime',
    claude,
    message(
      {},
      {
        input_tokens: 1,
        output_tokens: 2,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        server_tool_use: { web_search_requests: 3, web_fetch_requests: 0 },
        service_tier: 'priority',
      },
    ),
    {
      details: { model: 'claude', responseId: 'm1', serviceTier: 'priority' },
      usage: { input: 31, cacheWrite: 30, cacheWriteLong: 20, billed: { web_search_requests: 3 } },
    },
  ],
  [
    'OpenRouter: the upstream provider, its own stop reason, the cost and searches',
    chat('openrouter'),
    [
      { id: 'g1', provider: 'Google', ...chatText('Sunny') },
      chatEnd({ native_finish_reason: 'STOP' }, { provider: 'Google' }),
      {
        choices: [],
        usage: {
          prompt_tokens: 1,
          completion_tokens: 1,
          cost: 0.0015,
          server_tool_use: { web_search_requests: 2 },
        },
      },
    ],
    {
      details: { responseId: 'g1', upstream: 'Google', nativeStop: 'STOP' },
      usage: { costs: [{ amount: '0.0015', currency: 'USD' }], billed: { web_search_requests: 2 } },
    },
  ],
  [
    'vLLM: the stop sequence that matched',
    chat('vllm'),
    [chatText('Sunny'), chatEnd({ stop_reason: 'END' })],
    { details: { stopSequence: 'END' } },
  ],
  [
    'llama.cpp: its timings and its fingerprint',
    chat('llama.cpp'),
    [
      { ...chatText('Sunny'), system_fingerprint: 'b11549' },
      chatEnd({}, { timings: { prompt_ms: 12.5, predicted_ms: 40.25 } }),
    ],
    { details: { fingerprint: 'b11549', timings: { inputMs: 12.5, outputMs: 40.25 } } },
  ],
  [
    'Azure: filters of the prompt and of the answer, repeated with every chunk',
    chat('azure'),
    [
      {
        choices: [],
        prompt_filter_results: [
          {
            prompt_index: 0,
            content_filter_results: { hate: { filtered: false, severity: 'safe' } },
          },
        ],
      },
      chatText('Sun', { content_filter_results: { hate: { filtered: false, severity: 'safe' } } }),
      chatText('ny', { content_filter_results: { hate: { filtered: true, severity: 'high' } } }),
      chatEnd({ content_filter_results: {} }),
    ],
    {
      text: 'Sunny',
      details: {
        safety: [
          { about: 'input', category: 'hate', level: 'safe', blocked: false },
          { about: 'output', category: 'hate', level: 'high', blocked: true },
        ],
      },
    },
  ],
  [
    'OpenAI chat: moderation',
    chat(),
    [chatText('Sunny'), chatEnd(), { choices: [], moderation }],
    { details: { safety: [flagged] } },
  ],
  [
    'xAI chat: the cost in ticks and the sources',
    chat('xai'),
    [
      chatText('Sunny'),
      chatEnd(
        {},
        {
          usage: {
            prompt_tokens: 1,
            completion_tokens: 1,
            cost_in_usd_ticks: 94_000,
            num_sources_used: 4,
          },
        },
      ),
    ],
    {
      usage: { costs: [{ amount: '0.0000094', currency: 'USD' }], billed: { num_sources_used: 4 } },
    },
  ],
  [
    'Perplexity: searches, and the total of its costs',
    chat('compatible'),
    [
      chatText('Sunny'),
      chatEnd(
        {},
        {
          usage: {
            prompt_tokens: 1,
            completion_tokens: 1,
            num_search_queries: 2,
            cost: { request_cost: 0.005, total_cost: 0.006 },
          },
        },
      ),
    ],
    { usage: { costs: [{ amount: '0.006', currency: 'USD' }], billed: { num_search_queries: 2 } } },
  ],
  [
    'OpenAI Responses: the tier that was used, and moderation',
    responses,
    [
      { type: 'response.created', response: { id: 'r1', service_tier: 'auto' } },
      ...completed({ service_tier: 'flex', moderation: { input: moderation.input.results[0] } }),
    ],
    { details: { responseId: 'r1', serviceTier: 'flex', safety: [flagged] } },
  ],
  [
    'xAI Responses: the cost in ticks and the tools by name',
    responses,
    completed({
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        cost_in_usd_ticks: 233_008_500,
        num_server_side_tools_used: 3,
        server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1 },
      },
    }),
    {
      usage: {
        costs: [{ amount: '0.02330085', currency: 'USD' }],
        billed: { web_search_calls: 2, x_search_calls: 1 },
      },
    },
  ],
  [
    'Gemini: safety ratings of the prompt and of the answer',
    google,
    [
      candidate(
        {
          safetyRatings: [
            { category: 'HARM_CATEGORY_HATE_SPEECH', probability: 'LOW', probabilityScore: 0.1 },
          ],
        },
        {
          responseId: 'g1',
          promptFeedback: {
            safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' }],
          },
        },
      ),
    ],
    {
      details: {
        responseId: 'g1',
        safety: [
          { about: 'output', category: 'HARM_CATEGORY_HATE_SPEECH', level: 'LOW', score: 0.1 },
          { about: 'input', category: 'HARM_CATEGORY_HARASSMENT', level: 'NEGLIGIBLE' },
        ],
      },
    },
  ],
];

describe('19: a documented stream keeps what its provider reports', () => {
  test.each(written)('%s', async (_what, create, events, kept) => {
    const { completion } = await answered(create, events);
    expect(completion.error).toBeUndefined();
    expect(completion).toMatchObject(kept);
  });

  test('nothing is invented if the provider reports nothing', async () => {
    const { completion } = await answered(chat(), [chatText('Sunny'), chatEnd()]);
    expect(completion).not.toHaveProperty('details');
    expect(completion.usage).not.toHaveProperty('billed');
    expect(completion.usage).not.toHaveProperty('cacheWriteLong');
  });

  test('texts that are too long for names are cut, and floods of ratings are bounded', async () => {
    const results = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`c${index}`, { filtered: false }]),
    );
    const { completion } = await answered(chat(), [
      { ...chatText('Sunny', { content_filter_results: results }), provider: 'x'.repeat(1e6) },
      chatEnd(),
    ]);
    expect(completion.details?.upstream).toHaveLength(1024);
    expect(completion.details?.safety).toHaveLength(256);
  });
});

describe('19: Gemini grounding', () => {
  const metadata = {
    webSearchQueries: ['weather Brest'],
    searchEntryPoint: { renderedContent: '<div>Search</div>' },
    groundingChunks: [
      { web: { uri: 'https://a.example', title: 'a' } },
      { web: { uri: 'https://b.example', title: 'b' } },
    ],
    groundingSupports: [
      {
        segment: { endIndex: 5, text: 'Sunny' },
        groundingChunkIndices: [1],
        confidenceScores: [0.9],
      },
    ],
  };
  const urlContextMetadata = {
    urlMetadata: [
      { retrievedUrl: 'https://c.example', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_ERROR' },
    ],
  };
  const grounding = {
    queries: ['weather Brest'],
    supports: [{ text: 'Sunny', start: 0, end: 5, sources: [1] }],
    searchEntryPoint: '<div>Search</div>',
    urls: [{ url: 'https://c.example', status: 'URL_RETRIEVAL_STATUS_ERROR' }],
  };

  test('is on the text, and its sources are positions in the citations', async () => {
    const { completion } = await answered(google, [
      candidate({ groundingMetadata: metadata, urlContextMetadata }),
    ]);
    const [part] = completion.item.parts;
    expect(part && groundingOf(part)).toEqual(grounding);
    expect(part?.metadata?.['citations']).toMatchObject([
      { url: 'https://a.example' },
      { url: 'https://b.example' },
    ]);
  });

  test('that comes after the text ended, or without one, is a part of its own', async () => {
    const call = { functionCall: { name: 'weather', args: {} } };
    const { completion } = await answered(google, [
      { candidates: [{ content: { parts: [call] } }] },
      candidate({ content: { parts: [] }, groundingMetadata: metadata, urlContextMetadata }),
    ]);
    const part = completion.item.parts.find(({ kind }) => kind === 'custom');
    expect(part && groundingOf(part)).toEqual(grounding);
  });

  test('of Vertex AI is read too', async () => {
    const create = ({ fetch }: Options) =>
      vertex({ model: 'gemini-3-pro', project: 'p', location: 'global', accessToken: 't', fetch });
    const { completion } = await answered(create, [candidate({ groundingMetadata: metadata })]);
    expect(completion.item.parts[0]?.metadata?.['grounding']).toMatchObject({
      queries: ['weather Brest'],
    });
  });
});

describe('19: log probabilities', () => {
  const logprob = (token: string, top: readonly string[] = []) => ({
    token,
    logprob: -0.5,
    top_logprobs: top.map((other) => ({ token: other, logprob: -1 })),
  });
  const read = (token: string, top: readonly string[] = []) => ({
    token,
    logprob: -0.5,
    ...(top.length === 0 ? {} : { top: top.map((other) => ({ token: other, logprob: -1 })) }),
  });
  const textOf = ({ item }: Completion) => {
    const part = item.parts.find(({ kind }) => kind === 'text');
    if (part === undefined) throw new Error('There is no text');
    return part;
  };

  test('are asked for and read on Chat Completions, token by token', async () => {
    const { completion, body } = await answered(
      chat(),
      [
        chatText('Sun', { logprobs: { content: [logprob('Sun', ['Rain'])] } }),
        // Without the check in the template matcher, an equal log probability would be lost.
        chatText('ny', { logprobs: { content: [logprob('ny')] } }),
        chatText('ny', { logprobs: { content: [logprob('ny')] } }),
        chatEnd({ logprobs: null }),
      ],
      { logprobs: 1 },
    );
    expect(body).toMatchObject({ logprobs: true, top_logprobs: 1 });
    expect(completion.text).toBe('Sunnyny');
    expect(logprobsOf(textOf(completion))).toEqual([read('Sun', ['Rain']), read('ny'), read('ny')]);
  });

  test('of reasoning and of calls are kept too', async () => {
    const calls = [{ index: 0, id: 'c', function: { name: 'weather', arguments: '{}' } }];
    const { completion } = await answered(chat('vllm'), [
      {
        choices: [
          { index: 0, delta: { reasoning_content: 'Hm' }, logprobs: { content: [logprob('Hm')] } },
        ],
      },
      {
        choices: [
          { index: 0, delta: { tool_calls: calls }, logprobs: { content: [logprob('{}')] } },
        ],
      },
      chatEnd({ finish_reason: 'tool_calls' }),
    ]);
    const { parts } = completion.item;
    expect(parts.map((part) => [part.kind, logprobsOf(part).map(({ token }) => token)])).toEqual([
      ['reasoning', ['Hm']],
      ['custom', ['{}']],
      ['tool_call', []],
    ]);
  });

  test('are asked for and read on Responses, and the end of the text has the last word', async () => {
    const delta = (text: string) => ({
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      delta: text,
      logprobs: [logprob(text)],
    });
    const { completion, body } = await answered(
      responses,
      [
        delta('Sun'),
        delta('ny'),
        ...completed({}, { logprobs: [logprob('Sun', ['Rain']), logprob('ny')] }),
      ],
      { logprobs: 0 },
    );
    expect(body).toMatchObject({ top_logprobs: 0 });
    expect(body['include']).toContain('message.output_text.logprobs');
    expect(logprobsOf(textOf(completion))).toEqual([read('Sun', ['Rain']), read('ny')]);
  });

  test('are asked for and read on Gemini', async () => {
    const token = (text: string, logProbability: number) => ({ token: text, logProbability });
    const { completion, body } = await answered(
      google,
      [
        candidate({
          logprobsResult: {
            chosenCandidates: [token('Sunny', -0.5)],
            topCandidates: [{ candidates: [token('Rainy', -1)] }],
          },
        }),
      ],
      { logprobs: 1 },
    );
    expect(body['generationConfig']).toEqual({ responseLogprobs: true, logprobs: 1 });
    expect(logprobsOf(textOf(completion))).toEqual([read('Sunny', ['Rainy'])]);
  });

  test('are on the structured part if the text becomes one', async () => {
    const output = { name: 'answer', schema: { type: 'object', properties: {} } };
    const events = [chatText('{}', { logprobs: { content: [logprob('{}')] } }), chatEnd()];
    const { completion } = await answered(chat(), events, { output });
    const [part] = completion.item.parts;
    expect(part?.kind).toBe('structured');
    expect(part && logprobsOf(part)).toEqual([read('{}')]);
  });

  test('beyond the limit are cut, which the part says', async () => {
    const many = Array.from({ length: 20 }, (_, index) => String(index));
    const content = Array.from({ length: 5000 }, () => logprob('Sunny', many));
    const events = [chatText('Sunny', { logprobs: { content } }), chatEnd()];
    const { completion } = await answered(chat(), events);
    const part = textOf(completion);
    expect(logprobsOf(part)).toHaveLength(Math.floor(100_000 / 21));
    expect(part.metadata).toMatchObject({ logprobsCut: true });
  });

  test('are refused where an API has none', async () => {
    const { completion } = await answered(claude, [], { logprobs: 1 });
    expect(completion.error?.message).toContain('the Messages API has no log probabilities');
    const { completion: wrong } = await answered(chat(), [], { logprobs: 21 });
    expect(wrong.error?.message).toContain('logprobs is 21; use a whole number from 0 to 20');
  });
});

describe('19: several answers', () => {
  const other = (index: number, choice: object) => ({ choices: [{ index, ...choice }] });
  const call = (name: string | undefined, text: string) => ({
    delta: { tool_calls: [{ index: 0, function: { name, arguments: text } }] },
  });

  test('are asked for and read on Chat Completions, also after the first one ended', async () => {
    const { completion, body } = await answered(
      chat(),
      [
        chatText('Sunny'),
        other(1, { delta: { content: 'Rai' } }),
        chatEnd(),
        other(1, { delta: { content: 'ny', reasoning_content: 'Clouds.' } }),
        other(2, call('weather', '{"city"')),
        other(2, call(undefined, ':"Brest"}')),
        other(1, { delta: {}, finish_reason: 'length' }),
        other(2, { delta: {}, finish_reason: 'tool_calls' }),
        { choices: [], usage: { prompt_tokens: 1, completion_tokens: 9 } },
      ],
      { candidates: 3 },
    );
    expect(body).toMatchObject({ n: 3 });
    expect(completion).toMatchObject({
      text: 'Sunny',
      stop: { reason: 'stop' },
      usage: { output: 9 },
    });
    expect(alternativesOf(completion.item)).toEqual([
      { index: 1, text: 'Rainy', reasoning: 'Clouds.', toolCalls: [], stop: 'length' },
      {
        index: 2,
        text: '',
        reasoning: '',
        toolCalls: [{ name: 'weather', arguments: '{"city":"Brest"}' }],
        stop: 'tool_calls',
      },
    ]);
  });

  test('have the name of a call that arrives in pieces, repeatedly, or late', async () => {
    const { completion } = await answered(
      chat(),
      [
        other(1, call('wea', '')),
        other(1, call('ther', '')),
        other(1, call(undefined, '{"city"')),
        other(1, call('weather', ':"Brest"}')),
        other(2, call('tide', '')),
        other(2, call('tide', '{}')),
        other(3, call(undefined, '{}')),
        other(3, call('moon', '')),
        ...[1, 2, 3].map((index) => other(index, { delta: {}, finish_reason: 'tool_calls' })),
        chatText('Sunny'),
        chatEnd(),
      ],
      { candidates: 4 },
    );
    expect(alternativesOf(completion.item).flatMap(({ toolCalls }) => toolCalls)).toEqual([
      { name: 'weather', arguments: '{"city":"Brest"}' },
      { name: 'tide', arguments: '{}' },
      { name: 'moon', arguments: '{}' },
    ]);
  });

  test('are asked for and read on Gemini', async () => {
    const parts = [
      { text: 'Clouds.', thought: true },
      { text: 'Rainy' },
      { functionCall: { name: 'w' } },
    ];
    const { completion, body } = await answered(
      google,
      [candidate({}), candidate({ index: 1, content: { parts } })],
      { candidates: 2 },
    );
    expect(body['generationConfig']).toEqual({ candidateCount: 2 });
    expect(completion.text).toBe('Sunny');
    expect(alternativesOf(completion.item)).toEqual([
      {
        index: 1,
        text: 'Rainy',
        reasoning: 'Clouds.',
        toolCalls: [{ name: 'w', arguments: '{}' }],
        stop: 'STOP',
      },
    ]);
  });

  test('do not come back in the next request', async () => {
    const events = [chatText('Sunny'), other(1, { delta: { content: 'Rainy' } }), chatEnd()];
    const { completion } = await answered(chat(), events);
    expect(alternativesOf(completion.item)).toHaveLength(1);
    const { body } = await answered(chat(), [], { items: [...items, completion.item, ...items] });
    expect(JSON.stringify(body)).toContain('Sunny');
    expect(JSON.stringify(body)).not.toContain('Rainy');
  });

  test('from a server that ignores the number are one answer', async () => {
    const { completion } = await answered(chat(), [chatText('Sunny'), chatEnd()], {
      candidates: 2,
    });
    expect(completion).toMatchObject({ text: 'Sunny', stop: { reason: 'stop' } });
    expect(completion.error).toBeUndefined();
  });

  test.each([
    ['the Messages API', claude],
    ['the Responses API', responses],
  ])('are refused by %s', async (api, create) => {
    const { completion } = await answered(create, [], { candidates: 2 });
    expect(completion.error).toMatchObject({ kind: 'invalid_request' });
    expect(completion.error?.message).toContain(`${api} has only one answer; leave candidates out`);
  });
});

test('19: tools that Groq ran are parts, with their arguments and their output', async () => {
  const ran = (entry: object) => ({
    choices: [{ index: 0, delta: { executed_tools: [{ index: 0, type: 'search', ...entry }] } }],
  });
  const { completion } = await answered(chat('groq'), [
    ran({ arguments: '{"query":"weather"}' }),
    ran({
      arguments: '',
      output: 'Sunny',
      search_results: { results: [{ url: 'https://a.example' }] },
    }),
    chatText('Sunny'),
    chatEnd(),
  ]);
  expect(completion.item.parts).toMatchObject([
    {
      kind: 'custom',
      name: 'executed_tool',
      value: {
        index: 0,
        type: 'search',
        arguments: '{"query":"weather"}',
        output: 'Sunny',
        search_results: { results: [{ url: 'https://a.example' }] },
      },
    },
    { kind: 'text', text: 'Sunny' },
  ]);
});
