import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { openStream } from '../testing/open-stream.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { type AiSdkOptions, fromAiSdk } from './index.ts';

type Part = LanguageModelV4StreamPart;

const textDelta: Part = { type: 'text-delta', id: 't', delta: 'a' };
const finish = {
  type: 'finish',
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  finishReason: { unified: 'stop', raw: 'stop' },
} as Part;

/** A model that sends one part. Its first stream then stalls and ignores the abort signal. */
function silentOnce(options: AiSdkOptions) {
  let asked = 0;
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'maker',
    modelId: 'm-1',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('never called')),
    doStream: async () => {
      const isSilent = asked++ === 0;
      const stream = new ReadableStream<Part>({
        start: (controller) => {
          controller.enqueue(textDelta);
          if (isSilent) return;
          controller.enqueue(finish);
          controller.close();
        },
        cancel: () => new Promise<void>(() => {}),
      });
      return { stream };
    },
  };
  return fromAiSdk(model, { maxConcurrentRequests: 1, ...options });
}

test.each(['abort', 'timeout'])('one that nobody reads on makes room at its %s', async (way) => {
  const clock = new VirtualClock();
  const provider = silentOnce({ clock });
  const controller = new AbortController();
  const stream = openStream(provider, controller.signal);
  await stream.next();
  const second = provider.complete({ items: [] });
  if (way === 'abort') controller.abort();
  else clock.advance(1_800_000);
  expect((await second).text).toBe('a');
  expect((await stream.next())?.end?.error?.kind).toBe(way === 'abort' ? 'aborted' : 'timeout');
  expect(clock.pending).toBe(0);
});

test('a reader that leaves during a read is released at once and frees its place', async () => {
  const clock = new VirtualClock();
  const provider = silentOnce({ clock });
  const stream = openStream(provider);
  await stream.next();
  const pending = stream.next();
  await stream.close();
  expect((await pending)?.end?.stop.reason).toBe('aborted');
  expect((await provider.complete({ items: [] })).text).toBe('a');
  expect(clock.pending).toBe(0);
});

test('a reader that leaves while it waits in the queue gives up its place', async () => {
  const provider = silentOnce({});
  const first = openStream(provider);
  await first.next();
  const waiting = openStream(provider);
  const pending = waiting.next();
  await waiting.close();
  expect((await pending)?.end?.stop.reason).toBe('aborted');
  await first.close();
  expect((await provider.complete({ items: [] })).text).toBe('a');
});
