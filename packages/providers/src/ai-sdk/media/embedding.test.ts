import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { afterEach, expect, test } from 'vitest';
import { ProviderError } from '../../contract/provider-error.ts';
import { embed } from '../../media/index.ts';
import {
  embeddingKey,
  openAiEmbeddingRules,
  vectorFor,
} from '../../testing/media/embedding-rules.ts';
import {
  type MediaServer,
  openAiError,
  startMediaServer,
} from '../../testing/media/media-server.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { embeddingFromAiSdk } from '../index.ts';

let server: MediaServer | undefined;

afterEach(async () => {
  await server?.close();
});

async function packageModel(apiKey: string = embeddingKey): Promise<EmbeddingModelV4> {
  server = await startMediaServer(openAiEmbeddingRules);
  const baseURL = `${server.url}/v1`;
  return createOpenAICompatible({ name: 'weather', baseURL, apiKey }).embeddingModel(
    'text-embedding-3-small',
  );
}

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

test('a model of an AI SDK package embeds texts', async () => {
  const model = embeddingFromAiSdk(await packageModel(), { maxTexts: 2 });
  const { vectors, usage } = await embed(model, ['sun', 'rain', 'snow']);
  expect(vectors).toEqual(['sun', 'rain', 'snow'].map((text) => vectorFor(text, 3)));
  expect(usage.input).toBe(11);
  expect(server?.requests).toHaveLength(2);
});

test('errors of the package have a kind, are retried and show no key', async () => {
  const key = 'not-a-known-format-0123456789';
  const options = { retry: { baseDelayMs: 1, maxAttempts: 2 }, secrets: [key] };
  const model = embeddingFromAiSdk(await packageModel(key), options);
  server?.script(openAiError(503, 'busy'), openAiError(401, `Incorrect API key: ${key}`));
  const error = await reasonOf(embed(model, ['sun']));
  expect(error).toBeInstanceOf(ProviderError);
  expect(error).toMatchObject({ kind: 'auth', status: 401 });
  expect(`${error.message} ${error.stack}`).not.toContain(key);
  expect(server?.requests).toHaveLength(2);
});

const deaf: EmbeddingModelV4 = {
  specificationVersion: 'v4',
  provider: 'deaf',
  modelId: 'one',
  maxEmbeddingsPerCall: undefined,
  supportsParallelCalls: false,
  doEmbed: () => new Promise(() => {}),
};

test('a package that ignores its signal is left after a timeout and after an abort', async () => {
  const clock = new VirtualClock();
  const model = embeddingFromAiSdk(deaf, { clock, retry: { maxAttempts: 1 } });
  const late = reasonOf(embed(model, ['sun']));
  await expect.poll(() => clock.pending).toBe(2);
  clock.advance(180_000);
  expect(await late).toMatchObject({ kind: 'timeout', provider: 'deaf' });
  const abort = new AbortController();
  const aborted = reasonOf(embed(model, ['sun'], { signal: abort.signal }));
  abort.abort();
  expect(await aborted).toMatchObject({ kind: 'aborted' });
});

test('unknown options and versions are refused', async () => {
  const typo = { retries: {} } as object;
  expect(() => embeddingFromAiSdk(deaf, typo)).toThrow(/no option retries/);
  const old = { ...deaf, specificationVersion: 'v1' } as unknown as EmbeddingModelV4;
  expect(await reasonOf(embed(embeddingFromAiSdk(old), ['sun']))).toMatchObject({
    kind: 'invalid_request',
  });
});
