import { type Item, itemId } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import { gemini } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { scriptedProvider } from '../scripted/scripted-provider.ts';
import { startOllama } from '../testing/ollama-server.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { limitContext } from './limit-context.ts';

const said = (text: string): Item => ({
  ...{ id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text }] },
});
const request: ModelRequest = {
  items: [said('Hello')],
  maxOutputTokens: 100,
  temperature: 0.5,
  tools: [{ name: 'weather', inputSchema: { type: 'object' } }],
};

type Fetch = typeof fetch;

/** Answers each request with a JSON value, and stores the requests. */
function jsonFetch(answer: unknown, status = 200) {
  const sent: { readonly url: string; readonly body: Record<string, unknown> }[] = [];
  const fetch: Fetch = async (input, init) => {
    sent.push({ url: String(input), body: JSON.parse(String(init?.body ?? '{}')) });
    return new Response(JSON.stringify(answer), { status });
  };
  return { fetch, sent };
}

describe('tokens are counted by the provider', () => {
  const local = 'http://127.0.0.1:8000/v1';
  const cases: readonly [string, (fetch: Fetch) => Provider, object, string, readonly string[]][] =
    [
      [
        'Anthropic',
        (fetch) => anthropic({ model: 'claude-sonnet-5', apiKey: 'k', fetch }),
        { input_tokens: 25 },
        'https://api.anthropic.com/v1/messages/count_tokens',
        ['messages', 'model', 'tools'],
      ],
      [
        'OpenAI',
        (fetch) => openaiResponses({ model: 'gpt-5.5', apiKey: 'k', fetch }),
        { input_tokens: 25, object: 'response.input_tokens' },
        'https://api.openai.com/v1/responses/input_tokens',
        ['input', 'model', 'tools'],
      ],
      [
        'Gemini',
        (fetch) => gemini({ model: 'gemini-3-flash-preview', apiKey: 'k', fetch }),
        { totalTokens: 25 },
        'https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:countTokens',
        ['generateContentRequest'],
      ],
      [
        'llama.cpp',
        (fetch) => openaiChat({ preset: 'llama.cpp', model: 'm', baseUrl: local, fetch }),
        { input_tokens: 25 },
        'http://127.0.0.1:8000/v1/chat/completions/input_tokens',
        ['messages', 'model', 'tools'],
      ],
      [
        'vLLM',
        (fetch) => openaiChat({ preset: 'vllm', model: 'm', baseUrl: local, fetch }),
        { count: 25, max_model_len: 4096 },
        'http://127.0.0.1:8000/tokenize',
        ['add_generation_prompt', 'messages', 'model', 'tools'],
      ],
    ];

  test.each(cases)('%s', async (_name, create, answer, url, fields) => {
    const { fetch, sent } = jsonFetch(answer);
    expect(await create(fetch).countTokens?.(request)).toBe(25);
    expect(sent.map((one) => one.url)).toEqual([url]);
    // Anthropic rejects fields that do not change the count.
    expect(Object.keys(sent[0]?.body ?? {}).toSorted()).toEqual(fields);
  });

  test('a server without the endpoint is asked once', async () => {
    const { fetch, sent } = jsonFetch({ error: 'not found' }, 404);
    const provider = anthropic({ model: 'm', apiKey: 'k', baseUrl: 'http://127.0.0.1:1', fetch });
    expect(await provider.countTokens?.(request)).toBeUndefined();
    expect(await provider.countTokens?.(request)).toBeUndefined();
    expect(sent).toHaveLength(1);
  });

  const missing = [404, 405, 501].map((status) => new Response('{}', { status }));
  test.each([
    ...missing.map((response) => [String(response.status), response] as const),
    ['200 without a count', new Response('<html>')] as const,
  ])('an answer with %s ends the counting', async (_name, response) => {
    const answers = [response, Response.json({ input_tokens: 25 })];
    const provider = anthropic({ model: 'm', apiKey: 'k', fetch: async () => next(answers) });
    expect(await provider.countTokens?.(request)).toBeUndefined();
    expect(await provider.countTokens?.(request)).toBeUndefined();
  });

  const temporary = [401, 408, 429, 500, 503].map((status) => new Response('{}', { status }));
  test.each([
    ...temporary.map((response) => [String(response.status), response] as const),
    ['a network error', new TypeError('fetch failed')] as const,
    ['a body that breaks off', new Response(brokenBody())] as const,
  ])('the next count works after a failure: %s', async (_name, failure) => {
    const answers = [failure, Response.json({ input_tokens: 25 })];
    const provider = anthropic({ model: 'm', apiKey: 'k', fetch: async () => next(answers) });
    expect(await provider.countTokens?.(request)).toBeUndefined();
    expect(await provider.countTokens?.(request)).toBe(25);
  });

  test('the next count works after a timeout', async () => {
    const clock = new VirtualClock();
    let isStuck = true;
    const fetch: Fetch = () =>
      isStuck ? new Promise(() => {}) : Promise.resolve(Response.json({ input_tokens: 25 }));
    const provider = anthropic({ model: 'm', apiKey: 'k', fetch, clock });
    const first = provider.countTokens?.(request);
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    clock.advance(60_000);
    expect(await first).toBeUndefined();
    isStuck = false;
    expect(await provider.countTokens?.(request)).toBe(25);
  });
});

function next(answers: (Response | Error)[]): Response {
  const answer = answers.shift() ?? new Error('no answer is left');
  if (answer instanceof Error) throw answer;
  return answer;
}

function brokenBody(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
}

test('an estimate grows with the content, and counts scripts with more tokens per character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, more) => {
      const short = estimateTokens({ items: [said(text)] });
      expect(estimateTokens({ items: [said(text + more)] })).toBeGreaterThanOrEqual(short);
      expect(short).toBeGreaterThanOrEqual(Math.floor(text.length / 4));
    }),
    { numRuns: runs(300) },
  );
  const words = 'a'.repeat(600);
  expect(estimateTokens({ items: [said('水'.repeat(600))] })).toBeGreaterThan(
    2 * estimateTokens({ items: [said(words)] }),
  );
});

describe('a context limit', () => {
  const long = { items: [said('word '.repeat(4000))] };

  test('refuses what is too long, and sends the rest', async () => {
    const provider = scriptedProvider(['Yes.', 'Yes.']);
    const limited = limitContext(provider, { contextTokens: 4096, advice: 'Use a larger one' });
    const { error, usage } = await limited.complete(long);
    expect([error?.kind, usage.input]).toEqual(['context_overflow', 0]);
    expect(error?.message).toMatch(/about 50\d\d tokens, and \S+ runs with a context of 4096/);
    expect(error?.message).toContain('Use a larger one');
    expect(provider.requests).toHaveLength(0);
    expect((await limited.complete(request)).text).toBe('Yes.');
  });

  // Regression: requests of less than 1,500 tokens were sent, whatever the caller had set.
  test('applies to short requests too, if the caller sets it', async () => {
    const limited = limitContext(scriptedProvider(['Yes.']), { contextTokens: 40 });
    const { error } = await limited.complete({ items: [said('word '.repeat(40))] });
    expect(error?.kind).toBe('context_overflow');
    expect((await limited.complete({ items: [said('Hi')] })).text).toBe('Yes.');
  });

  test('asks for the exact number near the limit, and believes it', async () => {
    const counts: number[] = [];
    const exact = (tokens: number): Provider => ({
      ...scriptedProvider(['Yes.']),
      countTokens: async () => {
        counts.push(tokens);
        return tokens;
      },
    });
    const run = (tokens: number, contextTokens: number) =>
      limitContext(exact(tokens), { contextTokens }).complete(long);
    expect((await run(2000, 4096)).text).toBe('Yes.');
    expect((await run(9000, 6500)).error?.kind).toBe('context_overflow');
    expect((await run(9000, 100_000)).text).toBe('Yes.');
    expect(counts).toEqual([2000, 9000]);
  });

  test('adapts its estimate to the counts of the provider', async () => {
    const dense = { ...{ content: { parts: ['Yes.'] } }, usage: { input: 4000, output: 1 } };
    const limited = limitContext(scriptedProvider([dense, 'Yes.']), { contextTokens: 12_000 });
    const items = [said('word '.repeat(1600))];
    expect((await limited.complete({ items })).error).toBeUndefined();
    const { error } = await limited.complete({ items: [said('word '.repeat(4800))] });
    expect(error?.kind).toBe('context_overflow');
  });
});

describe('19.16: Ollama, which cuts requests without an error', () => {
  test('gets no request that is longer than its context, also if it has not loaded the model', async () => {
    for (const isLoaded of [true, false]) {
      const server = await startOllama({ isLoaded });
      const provider = openaiChat({ preset: 'ollama', model: 'qwen3', baseUrl: server.baseUrl });
      const { error } = await provider.complete({ items: [said('word '.repeat(4000))] });
      expect(error?.kind).toBe('context_overflow');
      expect(error?.message).toContain('OLLAMA_CONTEXT_LENGTH');
      expect(server.sentTokens).toEqual([]);
      const { text } = await provider.complete({ items: [said('word '.repeat(2000))] });
      expect(text).toBe('Hello.');
      expect(await provider.contextTokens?.()).toBe(4096);
      await server.close();
    }
  });

  test('is asked nothing more for a short request', async () => {
    const server = await startOllama();
    const provider = openaiChat({ preset: 'ollama', model: 'qwen3', baseUrl: server.baseUrl });
    expect((await provider.complete({ items: [said('Hi')] })).text).toBe('Hello.');
    expect(server.paths).toEqual(['/v1/chat/completions']);
    await server.close();
  });

  test('and if it cannot tell its context, the request is sent', async () => {
    const fetch: Fetch = async (input, init) => {
      if (!String(input).endsWith('/chat/completions')) throw new Error('refused');
      expect(init?.method).toBe('POST');
      const event = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] };
      return new Response(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`);
    };
    const provider = openaiChat({ preset: 'ollama', model: 'qwen3', fetch });
    expect((await provider.complete({ items: [said('word '.repeat(4000))] })).text).toBe('Hi');
  });
});
