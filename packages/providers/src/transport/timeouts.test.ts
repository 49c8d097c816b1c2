import { countingIds } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { type ScriptedServer, startScriptedServer, streamReply } from '../scripted-server/index.ts';
import { finishEvent, sseText, textEvent, toolCallEvent } from '../testing/chat-events.ts';
import { createControlledBody } from '../testing/controlled-body.ts';
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

const timeouts = { firstByteTimeoutMs: 3000, idleTimeoutMs: 2000, totalTimeoutMs: 10_000 };

describe('the first byte', () => {
  test('can be missing before the headers', async () => {
    server.reply({ before: [{ type: 'stall' }], steps: [] });
    const stream = openStream(chat());
    const last = stream.next();
    const asked = await server.nextRequest();
    clock.advance(179_999);
    expect(asked.isClosed).toBe(false);
    clock.advance(1);
    const end = (await last)?.end;
    expect(end?.stop).toEqual({ reason: 'error', cause: 'timeout' });
    expect(end?.error?.kind).toBe('timeout');
    expect(end?.error?.retryable).toBe(true);
    expect(end?.error?.message).toContain('the first byte timeout of 180000 ms passed');
    expect(await asked.closed).toBe('client');
  });

  test('can be missing after the headers', async () => {
    server.reply(streamReply([{ type: 'stall' }]));
    const answered = Promise.withResolvers<void>();
    const fetcher: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      answered.resolve();
      return response;
    };
    const last = openStream(chat({ fetch: fetcher, timeouts })).next();
    await answered.promise;
    clock.advance(2999);
    clock.advance(1);
    expect((await last)?.end?.error?.message).toContain('the first byte timeout of 3000 ms');
    expect(await server.requests[0]?.closed).toBe('client');
  });

  test('has a timeout also if fetch ignores signals', async () => {
    const asked = Promise.withResolvers<void>();
    const fetcher = () => {
      asked.resolve();
      return new Promise<Response>(() => {});
    };
    const last = openStream(chat({ fetch: fetcher, timeouts })).next();
    await asked.promise;
    clock.advance(3000);
    expect((await last)?.end?.error?.kind).toBe('timeout');
  });
});

describe('fault 14: a stream of signs of life', () => {
  test.for([': ping\n\n', 'event: ping\ndata: {}\n\n', 'data: {"choices":[]}\n\n'])(
    'ends without content, although it is never idle: %j',
    async (sign) => {
      const body = createControlledBody();
      const stream = openStream(chat({ fetch: body.fetch }));
      const last = stream.next();
      for (let minute = 0; minute < 10; minute++) {
        await body.waitForRead();
        body.send(sign);
        await body.waitForRead();
        clock.advance(60_000);
      }
      const end = (await last)?.end;
      expect(end?.error?.kind).toBe('timeout');
      expect(end?.error?.message).toContain(
        'the silence timeout of 600000 ms passed, with comments or pings but no content',
      );
    },
  );

  test('goes on as long as content comes within the time', async () => {
    const body = createControlledBody();
    const stream = openStream(chat({ fetch: body.fetch, timeouts: { silenceTimeoutMs: 5000 } }));
    const texts: unknown[] = [];
    for (const word of ['a', 'b', 'c']) {
      const next = stream.next();
      await body.waitForRead();
      body.send(': ping\n\n');
      await body.waitForRead();
      clock.advance(4000);
      body.send(sseText(textEvent(word)));
      texts.push((await next)?.deltas.at(-1));
      // The consumer is slow. That is not the server's silence.
      clock.advance(60_000);
    }
    const rest = stream.rest();
    await body.waitForRead();
    body.send(sseText(finishEvent()));
    body.end();
    expect((await rest).at(-1)?.end?.error).toBeUndefined();
    expect(texts).toMatchObject(['a', 'b', 'c'].map((chunk) => ({ chunk })));
  });
});

describe('an idle stream', () => {
  test('ends with partial text and retracted calls', async () => {
    const events = [toolCallEvent('{"a":', 'add'), textEvent('a')];
    server.reply(streamReply([sseText(...events), { type: 'stall' }]));
    const stream = openStream(chat());
    await stream.next();
    const last = stream.next();
    clock.advance(89_999);
    clock.advance(1);
    const { deltas, end } = (await last) ?? {};
    expect(deltas).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ type: 'retract_part', reason: 'cut' }),
        expect.objectContaining({ type: 'commit_part', partial: true }),
      ]),
    );
    expect(end?.error?.kind).toBe('timeout');
    expect(end?.error?.message).toContain('the idle timeout of 90000 ms passed');
    expect(await (await server.nextRequest()).closed).toBe('client');
  });

  test('is not one with a slow consumer', async () => {
    server.reply(
      streamReply([sseText(textEvent('a')), sseText(textEvent('b')), sseText(finishEvent())]),
    );
    const stream = openStream(chat());
    await stream.next();
    clock.advance(1_000_000);
    const rest = await stream.rest();
    expect(rest.at(-1)?.end?.error).toBeUndefined();
  });

  test('is not one with a slow consumer, even with a very short timeout', async () => {
    const body = createControlledBody();
    const stream = openStream(
      chat({ fetch: body.fetch, timeouts: { ...timeouts, idleTimeoutMs: 1e-6 } }),
    );
    const first = stream.next();
    await body.waitForRead();
    body.send(sseText(textEvent('a'), finishEvent()));
    body.end();
    await first;
    clock.advance(500);
    expect((await stream.rest()).at(-1)?.end?.error).toBeUndefined();
  });

  test('is one again when the consumer is back', async () => {
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const stream = openStream(chat());
    await stream.next();
    clock.advance(200_000);
    const last = stream.next();
    clock.advance(89_999);
    clock.advance(90_000);
    expect((await last)?.end?.error?.message).toContain('the idle timeout');
  });

  test('is measured from the last byte, not from the first', async () => {
    const body = createControlledBody();
    const ending = chat({ fetch: body.fetch, timeouts }).complete({ items: helloItems });
    for (let nth = 0; nth < 4; nth++) {
      await body.waitForRead();
      body.send(sseText(textEvent('a')));
      await body.waitForRead();
      clock.advance(1500);
    }
    clock.advance(500);
    const { error, text } = await ending;
    expect(error?.message).toContain('the idle timeout of 2000 ms passed');
    expect(text).toBe('aaaa');
  });
});

describe('the whole response', () => {
  test('has a timeout of its own, even while data arrives', async () => {
    const body = createControlledBody();
    const ending = chat({ fetch: body.fetch, timeouts }).complete({ items: helloItems });
    for (let nth = 0; nth < 10; nth++) {
      await body.waitForRead();
      body.send(sseText(textEvent('a')));
      await body.waitForRead();
      clock.advance(1000);
    }
    const { error, text } = await ending;
    expect(error?.kind).toBe('timeout');
    expect(error?.message).toContain('the total timeout of 10000 ms passed');
    expect(text).toHaveLength(10);
    expect(body.isCancelled).toBe(true);
  });

  test('is complete if its finish came before', async () => {
    server.reply(streamReply([sseText(textEvent('a'), finishEvent()), { type: 'stall' }]));
    const stream = openStream(chat({ timeouts }));
    await stream.next();
    const last = stream.next();
    clock.advance(10_000);
    expect((await last)?.end).toMatchObject({ stop: { reason: 'stop' } });
  });

  test('does not time out while it waits in the queue', async () => {
    const provider = chat({ timeouts, maxConcurrentRequests: 1 });
    server.reply(
      streamReply([sseText(textEvent('a')), { type: 'stall' }]),
      streamReply([sseText(textEvent('b'), finishEvent())]),
    );
    const first = openStream(provider);
    await first.next();
    const second = provider.complete({ items: helloItems }, { ids: countingIds() });
    const last = first.next();
    clock.advance(2000);
    expect((await last)?.end?.error?.kind).toBe('timeout');
    expect((await second).text).toBe('b');
  });
});

describe('the body of an error', () => {
  test('is waited for five seconds: the status is enough', async () => {
    const body = createControlledBody({ status: 429 });
    const last = openStream(chat({ fetch: body.fetch })).next();
    await body.waitForRead();
    clock.advance(4000);
    body.send('{"error":');
    await body.waitForRead();
    clock.advance(999);
    expect(body.isCancelled).toBe(false);
    clock.advance(1);
    expect((await last)?.end?.error).toMatchObject({ kind: 'rate_limit', status: 429 });
    expect(body.isCancelled).toBe(true);
  });

  test('may break off: the status is enough', async () => {
    const headers = { 'content-length': '1000' };
    server.reply({ status: 401, headers, steps: ['{"error":', { type: 'cut' }] });
    expect((await chat().complete({ items: helloItems })).error).toMatchObject({
      kind: 'auth',
      status: 401,
    });
  });
});

describe('the options', () => {
  test('that are undefined are the defaults', async () => {
    const none = { idleTimeoutMs: undefined } as unknown as Partial<typeof timeouts>;
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const stream = openStream(chat({ timeouts: none }));
    await stream.next();
    const last = stream.next();
    clock.advance(90_000);
    expect((await last)?.end?.error?.message).toContain('90000 ms');
  });

  test('can be Infinity', async () => {
    const endless = {
      firstByteTimeoutMs: Infinity,
      idleTimeoutMs: Infinity,
      silenceTimeoutMs: Infinity,
      totalTimeoutMs: Infinity,
    };
    const body = createControlledBody();
    const ending = chat({ fetch: body.fetch, timeouts: endless }).complete({ items: helloItems });
    await body.waitForRead();
    clock.advance(1e9);
    body.send(sseText(textEvent('a')));
    await body.waitForRead();
    clock.advance(1e9);
    body.send(sseText(finishEvent()));
    body.end();
    expect((await ending).text).toBe('a');
  });
});
