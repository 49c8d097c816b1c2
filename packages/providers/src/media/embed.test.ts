import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { recordCassette, replayFetch } from '../cassette/index.ts';
import type { EmbeddingModel } from '../contract/media.ts';
import { ProviderError } from '../contract/provider-error.ts';
import {
  embeddingKey,
  geminiEmbeddingRules,
  openAiEmbeddingRules,
  vectorFor,
} from '../testing/media/embedding-rules.ts';
import { type MediaServer, openAiError, startMediaServer } from '../testing/media/media-server.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { embed, geminiEmbedding, type OpenaiEmbeddingOptions, openaiEmbedding } from './index.ts';

let server: MediaServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const fast = { baseDelayMs: 1, maxDelayMs: 20 };

async function openAi(options: Partial<OpenaiEmbeddingOptions> = {}): Promise<EmbeddingModel> {
  server = await startMediaServer(openAiEmbeddingRules);
  return openaiEmbedding({
    model: 'text-embedding-3-small',
    apiKey: embeddingKey,
    preset: 'openai',
    baseUrl: `${server.url}/v1`,
    retry: fast,
    ...options,
  });
}

const textsOf = (count: number) => Array.from({ length: count }, (_, at) => `text ${at}`);

async function failure(promise: Promise<unknown>): Promise<ProviderError> {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  );
  if (error instanceof ProviderError) return error;
  throw new Error(`expected a ProviderError, got ${String(error)}`);
}

describe('embed over OpenAI', () => {
  test('returns the vectors in the order of the texts, with usage and cost', async () => {
    const info = { prices: { input: '0.02', output: '0' } };
    const model = await openAi({ info });
    const { vectors, usage } = await embed(model, ['sun', 'rain'], {
      dimensions: 4,
      providerOptions: { openai: { user: 'reverse' } },
    });
    expect(vectors).toEqual([vectorFor('sun', 4), vectorFor('rain', 4)]);
    expect(usage).toMatchObject({ input: 7, output: 0, estimated: false });
    expect(usage.costs).toEqual([{ amount: '0.00000014', currency: 'USD' }]);
  });

  test('splits by the number of texts and by their size', async () => {
    const model = await openAi();
    const texts = [...textsOf(513), 'x'.repeat(299_995), 'y'.repeat(200)];
    const { vectors } = await embed(model, texts);
    expect(vectors).toEqual(texts.map((text) => vectorFor(text, 3)));
    expect(server?.requests).toHaveLength(4);
  });

  test('no texts need no request', async () => {
    const model = await openAi();
    expect((await embed(model, [])).vectors).toEqual([]);
    expect(server?.requests).toHaveLength(0);
  });

  test('refuses an empty text, an unknown option and options that replace the input', async () => {
    const model = await openAi();
    expect(await failure(embed(model, ['a', '']))).toMatchObject({ kind: 'invalid_request' });
    const typo = { dimension: 4 } as object;
    expect((await failure(embed(model, ['a'], typo))).message).toContain(
      'Did you mean dimensions?',
    );
    const taken = { providerOptions: { openai: { input: ['b'] } } };
    expect((await failure(embed(model, ['a'], taken))).message).toContain('cannot set input');
    expect(server?.requests).toHaveLength(0);
  });

  test('retries an overloaded server and waits as long as it asks', async () => {
    const clock = new VirtualClock();
    const model = await openAi({ clock, retry: { maxAttempts: 3 } });
    server?.script({
      ...openAiError(429, 'Slow down', 'rate_limit_exceeded'),
      headers: { 'retry-after': '7' },
    });
    const embedding = embed(model, ['sun']);
    await server?.received(1);
    await expect.poll(() => clock.pending).toBe(1);
    clock.advance(6999);
    expect(server?.requests).toHaveLength(1);
    clock.advance(1);
    expect((await embedding).vectors).toHaveLength(1);
    expect(server?.requests).toHaveLength(2);
  });

  test('gives up after the last attempt, and does not retry what cannot succeed', async () => {
    const model = await openAi({ retry: { ...fast, maxAttempts: 2 } });
    server?.script(openAiError(503, 'busy'), openAiError(503, 'busy'));
    expect(await failure(embed(model, ['sun']))).toMatchObject({ kind: 'overloaded', status: 503 });
    expect(server?.requests).toHaveLength(2);
    const other = openaiEmbedding({
      ...{ model: 'other', apiKey: embeddingKey, baseUrl: `${server?.url}/v1`, retry: fast },
    });
    expect(await failure(embed(other, ['sun']))).toMatchObject({
      ...{ kind: 'invalid_request', status: 404, requestId: 'req_1' },
    });
    expect(server?.requests).toHaveLength(3);
  });

  test('a wrong key is an auth error that does not show the key', async () => {
    const wrong = 'sk-wrong-key-0123456789';
    const model = await openAi({ apiKey: wrong });
    server?.script(openAiError(401, `Incorrect API key provided: ${wrong}`, 'invalid_api_key'));
    const error = await failure(embed(model, ['sun']));
    expect(error.kind).toBe('auth');
    expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain(wrong);
  });

  test('a server that does not answer is a timeout, and an abort ends the call', async () => {
    const timeouts = { firstByteTimeoutMs: 20 };
    const model = await openAi({ timeouts, retry: { maxAttempts: 1 } });
    server?.script({ how: 'hang' });
    expect(await failure(embed(model, ['sun']))).toMatchObject({ kind: 'timeout' });
    const abort = new AbortController();
    const patient = openaiEmbedding({
      ...{ model: 'text-embedding-3-small', apiKey: embeddingKey, baseUrl: `${server?.url}/v1` },
    });
    server?.script({ how: 'hang' });
    const embedding = failure(embed(patient, ['sun'], { signal: abort.signal }));
    await server?.received(2);
    abort.abort();
    expect(await embedding).toMatchObject({ kind: 'aborted' });
  });

  test('an abort ends the wait before a retry', async () => {
    const model = await openAi({ retry: { baseDelayMs: 60_000 }, clock: new VirtualClock() });
    server?.script(openAiError(503, 'busy'));
    const abort = new AbortController();
    const embedding = failure(embed(model, ['sun'], { signal: abort.signal }));
    await server?.received(1);
    abort.abort();
    expect(await embedding).toMatchObject({ kind: 'aborted' });
  });

  test.each([
    ['too few vectors', { data: [{ index: 0, embedding: [1] }] }],
    [
      'an index twice',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 0, embedding: [1] },
        ],
      },
    ],
    [
      'a huge index',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 2 ** 31, embedding: [1] },
        ],
      },
    ],
    ['a text as a number', { data: [{ embedding: ['1'] }, { embedding: [1] }] }],
    ['vectors of two lengths', { data: [{ embedding: [1] }, { embedding: [1, 2] }] }],
    ['a list', []],
  ])('an answer with %s is a protocol error', async (_name, body) => {
    const model = await openAi({ retry: { maxAttempts: 1 } });
    server?.script({ body: JSON.stringify(body) });
    expect(await failure(embed(model, ['sun', 'rain']))).toMatchObject({ kind: 'protocol_error' });
  });

  test('a recorded call is replayed without a server', async () => {
    const model = { model: 'text-embedding-3-small', apiKey: embeddingKey };
    await openAi();
    const baseUrl = `${server?.url}/v1`;
    const recorder = recordCassette({ secrets: [embeddingKey] });
    const first = await embed(openaiEmbedding({ ...model, baseUrl, fetch: recorder.fetch }), ['a']);
    const cassette = recorder.cassette();
    await server?.close();
    const replay = openaiEmbedding({ ...model, baseUrl, fetch: replayFetch(cassette) });
    expect(await embed(replay, ['a'])).toEqual(first);
  });

  test('names the servers that have the endpoint', () => {
    const preset = 'deepseek' as 'ollama';
    expect(() => openaiEmbedding({ model: 'x', preset })).toThrow(/use one of compatible, openai/);
  });
});

describe('embed over Gemini', () => {
  test('sends at most 100 texts in one request', async () => {
    server = await startMediaServer(geminiEmbeddingRules);
    const model = geminiEmbedding({
      ...{ model: 'gemini-embedding-001', apiKey: embeddingKey, baseUrl: `${server.url}/v1beta` },
    });
    const texts = textsOf(101);
    const providerOptions = { google: { taskType: 'RETRIEVAL_QUERY' } };
    const { vectors, usage } = await embed(model, texts, { dimensions: 2, providerOptions });
    expect(vectors).toEqual(texts.map((text) => vectorFor(text, 2)));
    expect(usage).toMatchObject({ input: 0, estimated: true, costs: [] });
    expect(server.requests).toHaveLength(2);
    expect(server.requests[0]?.body.toString()).toContain('"taskType":"RETRIEVAL_QUERY"');
  });

  test('a wrong key is an auth error', async () => {
    server = await startMediaServer(geminiEmbeddingRules);
    const model = geminiEmbedding({
      ...{ model: 'gemini-embedding-001', apiKey: 'wrong', baseUrl: `${server.url}/v1beta` },
    });
    expect(await failure(embed(model, ['sun']))).toMatchObject({
      kind: 'auth',
      provider: 'gemini',
    });
  });
});

test('any split keeps the order and the limits', async () => {
  const texts = fc.array(fc.string({ minLength: 1, maxLength: 9, unit: 'binary' }), {
    maxLength: 20,
  });
  const limit = fc.integer({ min: 1, max: 12 });
  await fc.assert(
    fc.asyncProperty(texts, limit, limit, limit, async (given, maxTexts, maxBytes, maxParallel) => {
      let active = 0;
      const model: EmbeddingModel = {
        ...{ provider: 'test', model: 'test', maxTexts, maxBytes, maxParallel },
        embed: async ({ texts: batch }) => {
          active++;
          expect(active).toBeLessThanOrEqual(maxParallel);
          const bytes = new TextEncoder().encode(batch.join('')).length;
          expect(batch.length).toBeLessThanOrEqual(maxTexts);
          expect(batch.length === 1 || bytes <= maxBytes).toBe(true);
          await Promise.resolve();
          active--;
          const usage = {
            input: batch.length,
            output: 0,
            cacheRead: 0,
            cacheWrite: 0,
            reasoning: 0,
          };
          const vectors = batch.map((text) => [text.length]);
          return { vectors, usage: { ...usage, estimated: false, costs: [] } };
        },
      };
      const { vectors, usage } = await embed(model, given);
      expect(vectors).toEqual(given.map((text) => [text.length]));
      expect(usage.input).toBe(given.length);
    }),
    { numRuns: runs(30) },
  );
});
