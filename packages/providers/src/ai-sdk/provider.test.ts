import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { countingIds, type Item, itemId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { type AiSdkOptions, fromAiSdk } from './index.ts';

// Uses a real package with an injected fetch, to verify what the hand-written parts assume.

const done = 'data: [DONE]\n\n';
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'r-1',
  model: 'm-1-2026',
  choices: [{ index: 0, delta, finish_reason }],
});
const usage = {
  id: 'r-1',
  model: 'm-1-2026',
  choices: [],
  usage: {
    prompt_tokens: 20,
    completion_tokens: 9,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 3 },
  },
};
const call = (index: number, fields: { id?: string; name?: string; arguments?: string }) => {
  const { id, ...rest } = fields;
  return { tool_calls: [{ index, ...(id && { id, type: 'function' }), function: rest }] };
};

function providerWith(fetch: typeof globalThis.fetch, options?: AiSdkOptions): Provider {
  const maker = createOpenAICompatible({
    name: 'maker',
    baseURL: 'https://maker.test/v1',
    apiKey: 'k',
    includeUsage: true,
    fetch,
  });
  return fromAiSdk(maker('m-1'), options);
}

const ask = (text: string): Item => ({
  id: itemId('u1'),
  kind: 'user',
  parts: [{ kind: 'text', text }],
});
const hi = { items: [ask('hi')] };

async function answerTo(chunks: readonly string[], request = hi) {
  const { fetch, requests } = fetchOf(chunks);
  const answer = await providerWith(fetch).complete(request, { ids: countingIds() });
  return { ...answer, requests };
}

describe('a real package', () => {
  test('has the package’s id and model', () => {
    const { id, model } = providerWith(fetchOf([]).fetch);
    expect([id, model]).toEqual(['maker.chat', 'm-1']);
  });

  test('text streams, with the provider’s usage, model and id', async () => {
    const events = [
      chunk({ role: 'assistant', content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({}, 'stop'),
      usage,
    ];
    const {
      text,
      stop,
      usage: said,
      model,
      responseId,
      error,
    } = await answerTo([sseOf(events, done)]);
    expect(error).toBeUndefined();
    expect(text).toBe('Hello');
    expect(stop).toEqual({ reason: 'stop', raw: 'stop' });
    expect(said).toEqual({
      input: 20,
      output: 9,
      cacheRead: 4,
      cacheWrite: 0,
      reasoning: 3,
      estimated: false,
      costs: [],
    });
    expect({ model, responseId }).toEqual({ model: 'm-1-2026', responseId: 'r-1' });
  });

  test('any split of the bytes gives the same answer', async () => {
    const bytes = new TextEncoder().encode(
      sseOf([chunk({ content: 'grüß 😀' }), chunk({}, 'stop')], done),
    );
    for (const size of [1, 2, 3, 7, 64]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const { text, error } = await providerWith(fetchOf(pieces).fetch).complete(hi);
      expect([text, error]).toEqual(['grüß 😀', undefined]);
    }
  });

  test('the events of one read come in one step', async () => {
    const reads = [
      sseOf(['a', 'b', 'c'].map((content) => chunk({ content }))),
      sseOf([chunk({ content: 'd' }), chunk({ content: 'e' })]),
      sseOf([chunk({}, 'stop')], done),
    ];
    const network = networkOf();
    const steps: StreamStep[] = [];
    const answer = providerWith(network.fetch).complete(hi, { onStep: (step) => steps.push(step) });
    for (const read of reads) await network.send(read);
    network.end();
    expect((await answer).text).toBe('abcde');
    const texts = steps.map(({ deltas }) =>
      deltas.map((delta) => (delta.type === 'append_text' ? delta.chunk : '')).join(''),
    );
    expect(texts.filter((said) => said !== '')).toEqual(['abc', 'de']);
  });

  test('reasoning comes before the text, and goes back with the next request', async () => {
    const events = [
      chunk({ reasoning_content: 'let me' }),
      chunk({ reasoning_content: ' see' }),
      chunk({ content: 'Yes.' }),
      chunk({}, 'stop'),
    ];
    const { item } = await answerTo([sseOf(events, done)]);
    expect(item.parts).toMatchObject([
      { kind: 'reasoning', text: 'let me see' },
      { kind: 'text', text: 'Yes.' },
    ]);
    const { requests } = await answerTo([sseOf([chunk({}, 'stop')], done)], {
      items: [ask('hi'), item, ask('why?')],
    });
    expect(requests[0]?.body['messages']).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'Yes.', reasoning_content: 'let me see' },
      { role: 'user', content: 'why?' },
    ]);
  });

  const twoCalls = [
    chunk(call(0, { id: 'c1', name: 'read', arguments: '' })),
    chunk(call(1, { id: 'c2', name: 'list', arguments: '{"d' })),
    chunk(call(0, { arguments: '{"path":"a"}' })),
    chunk(call(1, { arguments: '":"."}' })),
  ];

  test('parallel calls that interleave arrive whole, and their results go back with them', async () => {
    const { item, stop } = await answerTo([sseOf([...twoCalls, chunk({}, 'tool_calls')], done)]);
    expect(item.parts).toMatchObject([
      { kind: 'tool_call', toolCallId: 'c1', name: 'read', arguments: '{"path":"a"}' },
      { kind: 'tool_call', toolCallId: 'c2', name: 'list', arguments: '{"d":"."}' },
    ]);
    expect(stop).toEqual({ reason: 'tool_use', raw: 'tool_calls' });
    const results = item.parts.flatMap((part) =>
      part.kind === 'tool_call'
        ? [
            {
              kind: 'tool_result',
              toolCallId: part.toolCallId,
              name: part.name,
              text: 'ok',
              isError: false,
            } as const,
          ]
        : [],
    );
    const items = [ask('hi'), item, { id: itemId('t1'), kind: 'tool', parts: results } as const];
    const { requests } = await answerTo([sseOf([chunk({}, 'stop')], done)], { items });
    expect(requests[0]?.body['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: 'c1' }, { id: 'c2' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'ok' },
      { role: 'tool', tool_call_id: 'c2', content: 'ok' },
    ]);
  });

  test('a signature of a call goes back with the call', async () => {
    const [signed] = call(0, { id: 'c1', name: 'read', arguments: '{}' }).tool_calls;
    const extra_content = { google: { thought_signature: 's' } };
    const { item } = await answerTo([
      sseOf([chunk({ tool_calls: [{ ...signed, extra_content }] }), chunk({}, 'tool_calls')], done),
    ]);
    const { requests } = await answerTo([sseOf([chunk({}, 'stop')], done)], {
      items: [ask('hi'), item],
    });
    expect(requests[0]?.body['messages']).toMatchObject([
      {},
      { tool_calls: [{ id: 'c1', extra_content }] },
      {},
    ]);
  });

  test('a stream that ends without a finish reason is truncated, and its calls are gone', async () => {
    const { item, stop, error } = await answerTo([
      sseOf([chunk({ content: 'I will' }), ...twoCalls], done),
    ]);
    expect(error).toMatchObject({ kind: 'truncated_stream', retry: 'yes' });
    expect(stop.reason).toBe('error');
    expect(item.parts.map(({ kind }) => kind)).toEqual(['text']);
  });

  test('cut after any event before the finish it is never a success, and has no call to run', async () => {
    const events = [chunk({ reasoning_content: 'hm' }), chunk({ content: 'so' }), ...twoCalls];
    for (const end of events.keys()) {
      const { item, error } = await answerTo([sseOf(events.slice(0, end))]);
      expect(error?.kind).toBe('truncated_stream');
      expect(item.parts.filter(({ kind }) => kind === 'tool_call')).toEqual([]);
    }
  });

  test('a 429 says how long to wait, and keeps what support asks for', async () => {
    const body = JSON.stringify({
      error: { message: 'slow down', code: 'rate_limit_exceeded' },
    });
    const headers = {
      'content-type': 'application/json',
      'retry-after': '3',
      'x-request-id': 'q-1',
    };
    const { fetch } = fetchOf([body], { status: 429, headers });
    const { error, item, stop } = await providerWith(fetch).complete(hi);
    expect(error).toMatchObject({
      kind: 'rate_limit',
      retryAfterMs: 3000,
      requestId: 'q-1',
      status: 429,
      providerCode: 'rate_limit_exceeded',
    });
    expect(stop).toEqual({ reason: 'error', raw: 'rate_limit_exceeded', cause: 'rate_limit' });
    expect(item.parts).toEqual([]);
  });

  test.each([
    [
      'as the package knows it',
      { error: { message: 'busy', type: 'overloaded_error', code: 503 } },
      'overloaded',
    ],
    ['in a form that it does not know', { error: 'Rate limit reached' }, 'rate_limit'],
    [
      'of vLLM',
      { object: 'error', message: 'the prompt is too long', code: 400 },
      'context_overflow',
    ],
    ['that is no JSON', '{"choices": [', 'protocol_error'],
  ])(
    'an error within the stream ends it, and the received text is kept: %s',
    async (_, event, kind) => {
      const { error, item } = await answerTo([
        sseOf([chunk({ content: 'half' }), event, chunk({ content: '!' })], done),
      ]);
      expect(error?.kind).toBe(kind);
      expect(item.parts).toEqual([{ kind: 'text', text: 'half', partial: true }]);
    },
  );

  test('a connection that breaks within the answer is network', async () => {
    const network = networkOf();
    const answer = providerWith(network.fetch).complete(hi);
    await network.send(sseOf([chunk({ content: 'half' })]));
    network.fail(new TypeError('terminated'));
    const { error, item } = await answer;
    expect(error?.kind).toBe('network');
    expect(item.parts).toEqual([{ kind: 'text', text: 'half', partial: true }]);
  });

  test('a host that is not there is network', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
      code: 'ECONNREFUSED',
    });
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
    const { error } = await providerWith(fetch).complete(hi);
    expect(error?.kind).toBe('network');
    expect(error?.message).toContain('ECONNREFUSED');
  });

  test('an abort reaches the network and keeps received text', async () => {
    const network = networkOf();
    const abort = new AbortController();
    const answer = providerWith(network.fetch).complete(hi, {
      signal: abort.signal,
      onStep: () => abort.abort(),
    });
    await network.send(sseOf([chunk({ content: 'half' })]));
    const { stop, item, error } = await answer;
    expect(stop.reason).toBe('aborted');
    expect(error?.kind).toBe('aborted');
    expect(item.parts).toEqual([{ kind: 'text', text: 'half', partial: true }]);
    await network.cancelled;
  });

  test('settings reach the body', async () => {
    const { fetch, requests } = fetchOf([sseOf([chunk({}, 'stop')], done)]);
    const tools = [{ name: 'read', inputSchema: { type: 'object' } }];
    await providerWith(fetch, { headers: { 'x-team': 'blue' } }).complete({
      ...hi,
      tools,
      toolChoice: { name: 'read' },
      reasoning: 'high',
      maxOutputTokens: 5,
      temperature: 0,
      providerOptions: { maker: { user: 'u' } },
    });
    expect(requests[0]?.headers.get('x-team')).toBe('blue');
    expect(requests[0]?.body).toMatchObject({
      model: 'm-1',
      max_tokens: 5,
      temperature: 0,
      reasoning_effort: 'high',
      user: 'u',
      tools: [{ type: 'function', function: { name: 'read' } }],
      tool_choice: { type: 'function', function: { name: 'read' } },
    });
  });

  test('output that fits a schema is a structured part', async () => {
    const { fetch } = fetchOf([
      sseOf([chunk({ content: '{"a":' }), chunk({ content: '1}' }), chunk({}, 'stop')], done),
    ]);
    const { item } = await providerWith(fetch).complete({
      ...hi,
      output: { name: 'n', schema: { type: 'object' } },
    });
    expect(item.parts).toEqual([{ kind: 'structured', name: 'n', value: { a: 1 } }]);
  });
});

/** A fetch whose response the test writes, read by read. */
function networkOf() {
  const encoder = new TextEncoder();
  const cancelled = Promise.withResolvers<void>();
  let pulled = Promise.withResolvers<void>();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
      },
      pull: () => pulled.resolve(),
      cancel: () => cancelled.resolve(),
    },
    { highWaterMark: 0 },
  );
  return {
    fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    /** Resolves when the package requests more data. */
    send: async (text: string) => {
      await pulled.promise;
      pulled = Promise.withResolvers();
      // A network needs event loop turns of its own.
      await new Promise((resolve) => setImmediate(resolve));
      controller?.enqueue(encoder.encode(text));
      await pulled.promise;
    },
    end: () => controller?.close(),
    fail: (error: unknown) => controller?.error(error),
    cancelled: cancelled.promise,
  };
}

test('18.1805: attack: a copy of a session continues the container of the original through an AI SDK package', async () => {
  const input = JSON.stringify({ code: 'print(1)', containerId: 'cntr_1' });
  const call = { toolCallId: 'ci_1', toolName: 'code_interpreter' };
  const metadata = { providerMetadata: { openai: { itemId: 'rs_1' } } };
  const result = { outputs: [{ type: 'logs', logs: 'log 1' }] };
  const parts = [
    { type: 'reasoning-start', id: 'r', ...metadata },
    { type: 'reasoning-delta', id: 'r', delta: 'Hm' },
    { type: 'reasoning-end', id: 'r' },
    { type: 'tool-call', ...call, input, providerExecuted: true },
    { type: 'tool-result', ...call, result },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'Done.' },
    { type: 'text-end', id: 't', ...metadata },
    { type: 'finish', usage: {}, finishReason: { unified: 'stop' } },
  ];
  const prompts: string[] = [];
  const provider = fromAiSdk({
    ...{ specificationVersion: 'v4', provider: 'openai', modelId: 'm-1', supportedUrls: {} },
    doStream: async ({ prompt }: { readonly prompt: unknown }) => {
      prompts.push(JSON.stringify(prompt));
      return { stream: ReadableStream.from(parts) };
    },
  } as never);
  const { item } = await provider.complete(hi, { session: 'original' });
  const request = { items: [ask('hi'), item, { ...ask('more'), id: itemId('u2') }] };
  await provider.complete(request, { session: 'original' });
  await provider.complete(request, { session: 'copy' });
  expect(prompts[1]).toContain('cntr_1');
  expect(prompts[1]).toContain('rs_1');
  expect(JSON.parse(prompts[2] ?? '')[1]).toEqual({
    role: 'assistant',
    content: [
      { type: 'text', text: 'Code that ran in an earlier container:\nprint(1)' },
      { type: 'text', text: 'Output of the code:\nlog 1' },
      { type: 'text', text: 'Done.' },
    ],
  });
});
