import { countingIds } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import {
  errorReply,
  newGate,
  type ScriptedServer,
  startScriptedServer,
  streamReply,
} from '../scripted-server/index.ts';
import { finishEvent, sseText, textEvent } from '../testing/chat-events.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { helloItems } from '../testing/hello-items.ts';
import { openStream } from '../testing/open-stream.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { watchRejections } from '../testing/watch-rejections.ts';

let server: ScriptedServer;
let clock: VirtualClock;
beforeEach(async () => {
  server = await startScriptedServer();
  clock = new VirtualClock();
});
afterEach(async () => {
  await server.close();
  expect(clock.pending).toBe(0);
});
watchRejections();

const chat = (options: Partial<ChatOptions> = {}) =>
  openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'test-key-of-nobody', clock, ...options });

const asked = (name: string) => ({
  items: helloItems,
  providerOptions: { 'openai-compatible': { user: name } },
});
const names = () => server.requests.map(({ body }) => (body as { user: string }).user);

describe('concurrent requests', () => {
  test('do not exceed the limit, and the others start in order', async () => {
    const gates = Array.from({ length: 5 }, newGate);
    for (const gate of gates) {
      const answer = sseText(textEvent('a'), finishEvent());
      server.reply(streamReply([{ type: 'wait', for: gate }, answer]));
    }
    const provider = chat({ maxConcurrentRequests: 2 });
    const all = ['1', '2', '3', '4', '5'].map((name) =>
      provider.complete(asked(name), { ids: countingIds() }),
    );
    await server.nextRequest();
    await server.nextRequest();
    expect(names().sort()).toEqual(['1', '2']);
    for (const next of [3, 4, 5]) {
      gates[next - 3]?.open();
      await server.nextRequest();
      expect(names()).toHaveLength(next);
      expect(names().slice(2)).toEqual(['3', '4', '5'].slice(0, next - 2));
    }
    for (const gate of gates) gate.open();
    expect((await Promise.all(all)).map(({ text }) => text)).toEqual(['a', 'a', 'a', 'a', 'a']);
  });

  test.each<[string, (provider: ReturnType<typeof chat>) => Promise<unknown>]>([
    [
      'ends',
      (provider) => {
        server.reply(streamReply([sseText(textEvent('a'), finishEvent())]));
        return provider.complete(asked('first'));
      },
    ],
    [
      'fails',
      (provider) => {
        server.reply(errorReply('openai-chat', 500, { type: 'server_error', message: 'no' }));
        return provider.complete(asked('first'));
      },
    ],
    [
      'is cut off',
      (provider) => {
        server.reply(streamReply([sseText(textEvent('a')), { type: 'cut' }]));
        return provider.complete(asked('first'));
      },
    ],
    [
      'is aborted',
      (provider) => {
        server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
        const controller = new AbortController();
        const onStep = () => controller.abort();
        return provider.complete(asked('first'), { signal: controller.signal, onStep });
      },
    ],
    [
      'times out',
      async (provider) => {
        server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
        const stream = openStream(provider);
        await stream.next();
        const last = stream.next();
        clock.advance(90_000);
        await last;
      },
    ],
    [
      'is left by its consumer',
      async (provider) => {
        server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
        const stream = openStream(provider);
        await stream.next();
        await stream.close();
      },
    ],
  ])('one that %s frees its place', async (_, first) => {
    const provider = chat({ maxConcurrentRequests: 1 });
    await first(provider);
    server.reply(streamReply([sseText(textEvent('second'), finishEvent())]));
    expect((await provider.complete(asked('second'))).text).toBe('second');
  });

  test.each(['abort', 'timeout'])('one that nobody reads on makes room at its %s', async (way) => {
    const provider = chat({ maxConcurrentRequests: 1 });
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const controller = new AbortController();
    const stream = openStream(provider, controller.signal);
    await stream.next();
    server.reply(streamReply([sseText(textEvent('second'), finishEvent())]));
    const second = provider.complete(asked('second'));
    if (way === 'abort') controller.abort();
    else clock.advance(1_800_000);
    expect((await second).text).toBe('second');
    expect((await stream.next())?.end?.error?.kind).toBe(way === 'abort' ? 'aborted' : 'timeout');
  });

  test('one that could not be built frees its place', async () => {
    const bad = {
      items: helloItems,
      providerOptions: { openai: { big: 1n as unknown as number } },
    };
    const provider = chat({ maxConcurrentRequests: 1 });
    expect((await provider.complete(bad)).error?.kind).toBe('invalid_request');
    server.reply(streamReply([sseText(textEvent('second'), finishEvent())]));
    expect((await provider.complete(asked('second'))).text).toBe('second');
  });

  test('those of other providers do not count', async () => {
    server.reply(
      streamReply([sseText(textEvent('a')), { type: 'stall' }]),
      streamReply([sseText(textEvent('b'), finishEvent())]),
    );
    const stream = openStream(chat({ maxConcurrentRequests: 1 }));
    await stream.next();
    expect((await chat({ maxConcurrentRequests: 1 }).complete(asked('other'))).text).toBe('b');
    await stream.close();
  });

  test('hundreds that are aborted while they wait leave the others as they were', async () => {
    const provider = chat({
      maxConcurrentRequests: 1,
      fetch: fetchOf([sseText(textEvent('a'), finishEvent())]).fetch,
    });
    const controller = new AbortController();
    const { signal } = controller;
    const first = openStream(provider);
    await first.next();
    const waiting = Array.from({ length: 300 }, (_, nth) =>
      provider.complete(asked(`${nth}`), nth % 3 === 0 ? {} : { signal }),
    );
    controller.abort();
    await first.close();
    const stops = (await Promise.all(waiting)).map(({ stop }) => stop.reason);
    expect(stops).toEqual(stops.map((_, nth) => (nth % 3 === 0 ? 'stop' : 'aborted')));
  });

  test.each([0, -1, Number.NaN])('%d is refused, since nobody would ever come through', (max) => {
    expect(() => chat({ maxConcurrentRequests: max })).toThrow(
      /as maxConcurrentRequests: use a whole number of 1 or more/,
    );
  });
});
