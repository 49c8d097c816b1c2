import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { countingIds } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { type ScriptedServer, startScriptedServer, streamReply } from '../scripted-server/index.ts';
import {
  finishEvent,
  sseText,
  textEvent,
  toolCallEvent,
  usageEvent,
} from '../testing/chat-events.ts';
import { createControlledBody } from '../testing/controlled-body.ts';
import { helloItems } from '../testing/hello-items.ts';
import { openStream } from '../testing/open-stream.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { watchRejections } from '../testing/watch-rejections.ts';

let server: ScriptedServer;
let clock: VirtualClock;
let controller: AbortController;
beforeEach(async () => {
  server = await startScriptedServer();
  clock = new VirtualClock();
  controller = new AbortController();
});
afterEach(async () => {
  await server.close();
  expect(clock.pending).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});
watchRejections();

const request = { items: helloItems };
const aborted = { reason: 'aborted', cause: 'aborted' };

const chat = (options: Partial<ChatOptions> = {}) =>
  openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'test-key-of-nobody', clock, ...options });

const completing = (provider = chat(), onStep = () => {}) =>
  provider.complete(request, { ids: countingIds(), signal: controller.signal, onStep });

/** Starts a request whose answer stalls, so that it occupies a place until it is aborted. */
async function occupy(provider = chat()) {
  server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
  const stream = openStream(provider);
  await stream.next();
  return stream;
}

/** The real fetch, which reports when the headers arrive. */
function observedFetch() {
  const answered = Promise.withResolvers<void>();
  const fetcher: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    answered.resolve();
    return response;
  };
  return { fetch: fetcher, answered: answered.promise };
}

/** A fetch that ignores the signal and answers when the test says so. */
function unabortableFetch() {
  const answer = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const fetcher = () => {
    asked.resolve();
    return answer.promise;
  };
  return { fetch: fetcher, asked: asked.promise, answer };
}

/** A response without any data. */
function stalledResponse() {
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({ cancel: () => cancelled.resolve() });
  return { response: new Response(body), cancelled: cancelled.promise };
}

describe('an abort in the middle of a stream', () => {
  test('closes the connection, keeps text as partial and retracts open calls', async () => {
    const events = [textEvent('Hello'), toolCallEvent('{"a":', 'add')];
    server.reply(streamReply([sseText(...events), { type: 'stall' }]));
    const reason = new Error('enough');
    const steps: number[] = [];
    const { item, stop, error, usage, text } = await chat().complete(request, {
      ids: countingIds(),
      signal: controller.signal,
      onStep: ({ deltas }) => {
        steps.push(deltas.length);
        if (steps.length === 1) controller.abort(reason);
      },
    });
    expect(stop).toEqual(aborted);
    expect(text).toBe('Hello');
    // The call ended the text, so the text is complete.
    expect(item.parts).toEqual([{ kind: 'text', text: 'Hello' }]);
    expect(usage).toMatchObject({ output: 3, estimated: true });
    expect(error).toMatchObject({ kind: 'aborted', retry: 'no', retryable: false });
    expect(error?.cause).toBe(reason);
    expect(steps).toHaveLength(2);
    expect(await server.requests[0]?.closed).toBe('client');
  });

  test('keeps open text and reasoning as partial', async () => {
    const reasoning = '{"choices":[{"index":0,"delta":{"reasoning_content":"Hm"}}]}';
    for (const [event, kind] of [
      [textEvent('Hello'), 'text'],
      [reasoning, 'reasoning'],
    ] as const) {
      controller = new AbortController();
      server.reply(streamReply([sseText(event), { type: 'stall' }]));
      const { item } = await completing(chat(), () => controller.abort());
      expect(item.parts).toMatchObject([{ kind, partial: true }]);
    }
  });

  test('is reported in the next step, which is the last one', async () => {
    server.reply(streamReply([sseText(toolCallEvent('{"a":', 'add')), { type: 'stall' }]));
    const stream = openStream(chat(), controller.signal);
    const first = await stream.next();
    expect(first?.end).toBeUndefined();
    controller.abort();
    const rest = await stream.rest();
    expect(rest).toHaveLength(1);
    expect(rest[0]?.deltas).toMatchObject([{ type: 'retract_part', reason: 'aborted' }]);
    expect(rest[0]?.end?.stop).toEqual(aborted);
    expect(rest[0]?.end?.stop.raw).toBeUndefined();
  });

  test('can have any reason, also one that is not an error', async () => {
    for (const reason of [undefined, null, 'enough', 0, { code: 7 }, new Error('')]) {
      controller = new AbortController();
      server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
      const { stop, error } = await completing(chat(), () => controller.abort(reason));
      expect(stop).toEqual(aborted);
      // Without a reason the platform creates one.
      if (reason !== undefined && reason !== null) expect(error?.cause).toBe(reason);
    }
  });

  test('is not an error of the provider, whose body has not arrived yet', async () => {
    const headers = { 'x-should-retry': 'true', 'retry-after': '7' };
    server.reply({ status: 500, headers, steps: ['{', { type: 'stall' }] });
    const { fetch: fetcher, answered } = observedFetch();
    const ending = completing(chat({ fetch: fetcher }));
    await answered;
    controller.abort();
    const { stop, error } = await ending;
    expect(stop).toEqual(aborted);
    expect(error?.retry).toBe('no');
  });
});

describe('an abort before the answer', () => {
  test('before the start sends nothing', async () => {
    controller.abort('never mind');
    const { stop, error, item, usage } = await completing();
    expect(stop).toEqual(aborted);
    expect(error?.cause).toBe('never mind');
    expect(item.parts).toEqual([]);
    expect(usage).toMatchObject({ input: 0, output: 0 });
    expect(server.requests).toEqual([]);
    expect(server.openConnections).toBe(0);
  });

  test('while it waits in the queue sends nothing and keeps the order of the others', async () => {
    const provider = chat({ maxConcurrentRequests: 1 });
    const first = await occupy(provider);
    const second = completing(provider);
    server.reply(streamReply([sseText(textEvent('third'), finishEvent())]));
    const third = provider.complete(request, { ids: countingIds() });
    controller.abort('gone');
    expect((await second).stop).toEqual(aborted);
    expect((await second).error?.cause).toBe('gone');
    await first.close();
    expect((await third).text).toBe('third');
    expect(server.requests).toHaveLength(2);
  });

  test('while the headers are awaited closes the connection', async () => {
    server.reply({ before: [{ type: 'stall' }], steps: [] });
    const ending = completing();
    const asked = await server.nextRequest();
    controller.abort();
    expect((await ending).stop).toEqual(aborted);
    expect(await asked.closed).toBe('client');
  });

  test('while the first byte is awaited closes the connection', async () => {
    server.reply(streamReply([{ type: 'stall' }]));
    const { fetch: fetcher, answered } = observedFetch();
    const ending = completing(chat({ fetch: fetcher }));
    await answered;
    controller.abort();
    expect((await ending).stop).toEqual(aborted);
    expect(await server.requests[0]?.closed).toBe('client');
  });
});

describe('an abort of a fetch that ignores signals', () => {
  test('ends the wait for the answer, and cancels an answer that comes later', async () => {
    const { fetch: fetcher, asked, answer } = unabortableFetch();
    const ending = completing(chat({ fetch: fetcher }));
    await asked;
    controller.abort();
    expect((await ending).stop).toEqual(aborted);
    const { response, cancelled } = stalledResponse();
    answer.resolve(response);
    await cancelled;
  });

  test('ignores an answer that fails later', async () => {
    const { fetch: fetcher, asked, answer } = unabortableFetch();
    const ending = completing(chat({ fetch: fetcher }));
    await asked;
    controller.abort();
    expect((await ending).stop).toEqual(aborted);
    answer.reject(new TypeError('fetch failed'));
  });

  test('also ends it at the moment in which the answer arrives', async () => {
    const { fetch: fetcher, asked, answer } = unabortableFetch();
    const ending = completing(chat({ fetch: fetcher }));
    await asked;
    const { response, cancelled } = stalledResponse();
    answer.resolve(response);
    controller.abort();
    expect((await ending).stop).toEqual(aborted);
    await cancelled;
  });

  test('ends a read, and cancels the body', async () => {
    const body = createControlledBody();
    const ending = completing(chat({ fetch: body.fetch }));
    await body.waitForRead();
    body.send(sseText(textEvent('a')));
    await body.waitForRead();
    controller.abort();
    expect((await ending).stop).toEqual(aborted);
    expect((await ending).text).toBe('a');
    expect(body.isCancelled).toBe(true);
  });
});

describe('an abort after the terminal signal', () => {
  test('leaves the answer complete, and closes the connection', async () => {
    server.reply(streamReply([sseText(textEvent('a'), finishEvent()), { type: 'stall' }]));
    const { stop, error, item } = await completing(chat(), () => controller.abort());
    expect(stop).toEqual({ reason: 'stop', raw: 'stop' });
    expect(error).toBeUndefined();
    expect(item.parts).toEqual([{ kind: 'text', text: 'a' }]);
    expect(await server.requests[0]?.closed).toBe('client');
  });

  test('leaves its calls whole', async () => {
    const events = [textEvent('a'), toolCallEvent('{}', 'add'), finishEvent('tool_calls')];
    server.reply(streamReply([sseText(...events), { type: 'stall' }]));
    const { stop, item } = await completing(chat(), () => controller.abort());
    expect(stop.reason).toBe('tool_use');
    expect(item.parts[1]).toMatchObject({ kind: 'tool_call', name: 'add', arguments: '{}' });
  });

  test('changes nothing after the last step', async () => {
    server.reply(streamReply([sseText(textEvent('a'), finishEvent(), usageEvent)]));
    const stream = openStream(chat(), controller.signal);
    await stream.rest();
    controller.abort();
    expect(await stream.next()).toBeUndefined();
  });
});

describe('a consumer that stops reading', () => {
  test('closes the connection and lets the next request start', async () => {
    const provider = chat({ maxConcurrentRequests: 1 });
    const first = await occupy(provider);
    const asked = await server.nextRequest();
    server.reply(streamReply([sseText(textEvent('next'), finishEvent())]));
    const second = provider.complete(request, { ids: countingIds() });
    await first.close();
    expect(await asked.closed).toBe('client');
    expect((await second).text).toBe('next');
    expect(await first.next()).toBeUndefined();
  });

  test('after the finish closes it too', async () => {
    server.reply(streamReply([sseText(textEvent('a'), finishEvent()), { type: 'stall' }]));
    const stream = openStream(chat(), controller.signal);
    await stream.next();
    await stream.close();
    expect(await (await server.nextRequest()).closed).toBe('client');
  });

  test('before the first step sends nothing', async () => {
    await openStream(chat(), controller.signal).close();
    expect(server.requests).toEqual([]);
  });

  test('while it waits for a read ends that read', async () => {
    const stream = await occupy();
    const asked = await server.nextRequest();
    const reading = stream.next();
    await stream.close();
    expect((await reading)?.end?.stop).toEqual(aborted);
    expect(await asked.closed).toBe('client');
    expect(await stream.next()).toBeUndefined();
  });

  test('while it waits for a read that ignores the abort ends that read, and cancels the body', async () => {
    const body = createControlledBody();
    const stream = openStream(chat({ fetch: body.fetch }), controller.signal);
    const reading = stream.next();
    await body.waitForRead();
    await stream.close();
    expect((await reading)?.end?.stop).toEqual(aborted);
    expect(body.isCancelled).toBe(true);
  });

  test('while it waits for an answer stops waiting, and cancels a later answer', async () => {
    const deaf = unabortableFetch();
    const { response, cancelled } = stalledResponse();
    const stream = openStream(chat({ fetch: deaf.fetch }), controller.signal);
    const reading = stream.next();
    await deaf.asked;
    await stream.close();
    expect((await reading)?.end?.stop).toEqual(aborted);
    deaf.answer.resolve(response);
    await cancelled;
  });

  test('while it waits in the queue sends nothing and keeps the order of the others', async () => {
    const provider = chat({ maxConcurrentRequests: 1 });
    const first = await occupy(provider);
    const waiting = openStream(provider, controller.signal);
    const reading = waiting.next();
    await waiting.close();
    expect((await reading)?.end?.stop).toEqual(aborted);
    server.reply(streamReply([sseText(textEvent('next'), finishEvent())]));
    const third = provider.complete(request, { ids: countingIds() });
    await first.close();
    expect((await third).text).toBe('next');
    expect(server.requests).toHaveLength(2);
  });

  test('with an error in its own loop gets that error', async () => {
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const ending = chat().complete(request, {
      onStep: () => {
        throw new RangeError('mine');
      },
    });
    await expect(ending).rejects.toThrow('mine');
    expect(await server.requests[0]?.closed).toBe('client');
  });
});

test('nothing is sent before the first step is requested', async () => {
  const stream = openStream(chat());
  await new Promise((resolve) => setImmediate(resolve));
  expect(server.openConnections).toBe(0);
  server.reply(streamReply([sseText(textEvent('a'), finishEvent())]));
  expect(await stream.rest()).toHaveLength(2);
  expect(server.requests).toHaveLength(1);
});

test.each(['abort', 'leave'])(
  'after an %s no handle stays: the process ends by itself',
  async (way) => {
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const script = join(import.meta.dirname, '..', 'testing', 'abort-in-process.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--conditions=@millrace/source',
      script,
      server.url,
      way,
    ]);
    expect(stdout.trim()).toBe(way === 'abort' ? 'aborted' : 'left');
    expect(await server.requests[0]?.closed).toBe('client');
  },
);
