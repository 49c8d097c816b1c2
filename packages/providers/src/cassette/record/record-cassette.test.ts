import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../transport/clock.ts';
import type { RecordedExchange } from '../cassette.ts';
import { encodeCassette } from '../format/encode-cassette.ts';
import { recordCassette } from './record-cassette.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

/** A loopback server whose responses the test writes piece by piece. */
let base: string;
let asked: [IncomingMessage, ServerResponse][];
let onAsked: () => void;
const server = createServer((request, response) => {
  asked.push([request, response]);
  onAsked();
});

beforeEach(async () => {
  asked = [];
  onAsked = () => {};
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** The next request that the server receives, and its response. */
async function nextRequest(): Promise<[IncomingMessage, ServerResponse]> {
  while (asked.length === 0) {
    await new Promise<void>((resolve) => {
      onAsked = resolve;
    });
  }
  const next = asked.shift();
  if (next === undefined) throw new Error('nothing was asked');
  return next;
}

class TestClock implements Clock {
  #now = 1000;
  now(): number {
    return this.#now;
  }
  advance(ms: number): void {
    this.#now += ms;
  }
  after(): never {
    throw new Error('a recorder waits for nothing');
  }
}

const textsOf = ({ response }: RecordedExchange) =>
  response?.chunks.map(({ bytes }) => decode(bytes));

describe('a recording fetch over a real connection', () => {
  test('passes each piece on immediately and records it with its time', async () => {
    const clock = new TestClock();
    const recorder = recordCassette({ clock });
    const fetching = recorder.fetch(`${base}/v1/chat?key=abc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer abcdefgh' },
      body: '{"stream":true}',
    });
    const [request, answer] = await nextRequest();
    expect(decode(Buffer.concat(await request.toArray()))).toBe('{"stream":true}');
    expect(request.headers.authorization).toBe('Bearer abcdefgh');
    clock.advance(7);
    answer.writeHead(201, { 'content-type': 'text/event-stream', 'set-cookie': 'a=b', etag: 'x' });
    answer.flushHeaders();
    const response = await fetching;
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (const piece of ['one', 'two €', 'three']) {
      clock.advance(10);
      answer.write(piece);
      // The next piece is not sent before this one has arrived.
      expect(decode((await reader.read()).value)).toBe(piece);
    }
    expect(recorder.cassette().exchanges).toEqual([]);
    clock.advance(3);
    answer.end();
    expect((await reader.read()).done).toBe(true);
    expect(response).toMatchObject({ status: 201, ok: true, url: `${base}/v1/chat?key=abc` });
    expect(response.headers.getSetCookie()).toEqual(['a=b']);
    expect(response.headers.get('etag')).toBe('x');

    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange).toEqual({
      startMs: 0,
      request: {
        method: 'POST',
        url: `${base}/v1/chat?key=(redacted)`,
        headers: { 'content-type': 'application/json' },
        body: encode('{"stream":true}'),
      },
      response: {
        atMs: 7,
        status: 201,
        statusText: 'Created',
        headers: { 'content-type': 'text/event-stream', date: expect.any(String) },
        chunks: [
          { atMs: 17, bytes: encode('one') },
          { atMs: 27, bytes: encode('two €') },
          { atMs: 37, bytes: encode('three') },
        ],
      },
      end: { atMs: 40, how: 'end' },
    });
  });

  test('18.944: attack: a provider repeats the key of a request, and no secrets were given', async () => {
    const key = 'unusual/key-of-25-chars==';
    const recorder = recordCassette();
    const fetching = recorder.fetch(`${base}/v1?api_key=${encodeURIComponent('second key/ü')}`, {
      ...{ method: 'POST', body: JSON.stringify({ key }) },
      headers: { 'x-api-key': key, cookie: `session=${key}2`, authorization: `Bearer ${key}3` },
    });
    const [, answer] = await nextRequest();
    answer.writeHead(401, { 'x-request-id': key });
    const texts = [key, encodeURIComponent(key), `${key}2`, `${key}3`, 'second key/ü'];
    answer.end(JSON.stringify(texts));
    await (await fetching).text();
    const text = encodeCassette(await recorder.settled());
    for (const one of texts) expect(text).not.toContain(one);
    expect(text).not.toContain('unusual');
    expect(text).not.toContain('second key');
  });

  test('records concurrent requests separately, in start order', async () => {
    const recorded: string[] = [];
    const recorder = recordCassette({
      onExchange: ({ request }) => recorded.push(new URL(request.url).pathname),
    });
    const fetching = ['/a', '/b', '/c'].map((path) => recorder.fetch(base + path));
    const answers = new Map<string | undefined, ServerResponse>();
    for (const _ of fetching) {
      const [request, answer] = await nextRequest();
      answers.set(request.url, answer);
      answer.write(`first of ${request.url}`);
    }
    const readers = (await Promise.all(fetching)).map(({ body }) => body?.getReader());
    for (const reader of readers) await reader?.read();
    for (const index of [2, 0, 1]) {
      const path = ['/a', '/b', '/c'][index];
      answers.get(path)?.end(`last of ${path}`);
      await readers[index]?.read();
      expect((await readers[index]?.read())?.done).toBe(true);
    }
    const { exchanges } = await recorder.settled();
    expect(exchanges.map(textsOf)).toEqual([
      ['first of /a', 'last of /a'],
      ['first of /b', 'last of /b'],
      ['first of /c', 'last of /c'],
    ]);
    expect(recorded).toEqual(['/c', '/a', '/b']);
  });

  test('passes a cancellation on to the connection and records it', async () => {
    const recorder = recordCassette();
    const fetching = recorder.fetch(base);
    const [, answer] = await nextRequest();
    answer.write('begun');
    const closed = once(answer, 'close');
    const reader = (await fetching).body?.getReader();
    await reader?.read();
    await reader?.cancel('enough');
    await closed;
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange && textsOf(exchange)).toEqual(['begun']);
    expect(exchange?.end).toEqual({ atMs: expect.any(Number), how: 'cancelled' });
  });

  test('passes an abort on, and detects it without another read', async () => {
    const recorder = recordCassette();
    const aborter = new AbortController();
    const fetching = recorder.fetch(new Request(base, { signal: aborter.signal }));
    const [, answer] = await nextRequest();
    answer.write('begun');
    const closed = once(answer, 'close');
    const reader = (await fetching).body?.getReader();
    await reader?.read();
    const reason = new Error('stop it');
    aborter.abort(reason);
    await closed;
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange?.end.how).toBe('cancelled');
    await expect(reader?.read()).rejects.toBe(reason);
  });

  test('records an abort before the response, and the caller gets the reason', async () => {
    const recorder = recordCassette();
    const aborter = new AbortController();
    const fetching = recorder.fetch(base, { signal: aborter.signal });
    await nextRequest();
    aborter.abort(new Error('too late'));
    await expect(fetching).rejects.toThrow('too late');
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange).toMatchObject({ end: { how: 'cancelled' } });
    expect(exchange).not.toHaveProperty('response');
  });

  test('records a failed body with the error of fetch', async () => {
    const recorder = recordCassette();
    const fetching = recorder.fetch(base);
    const [, answer] = await nextRequest();
    answer.write('begun');
    const reader = (await fetching).body?.getReader();
    await reader?.read();
    answer.destroy();
    const live = await reader?.read().catch((error: unknown) => error);
    expect(live).toBeInstanceOf(TypeError);
    const { message, cause } = live as TypeError & { cause: { code: string; message: string } };
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange?.end).toMatchObject({
      how: 'error',
      error: { name: 'TypeError', message, cause: { code: cause.code, message: cause.message } },
    });
  });

  test('records a failed connection', async () => {
    const recorder = recordCassette();
    const fetching = recorder.fetch(base);
    const [request] = await nextRequest();
    request.destroy();
    await expect(fetching).rejects.toThrow(TypeError);
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange?.end).toMatchObject({ how: 'error', error: { name: 'TypeError' } });
    expect(exchange).not.toHaveProperty('response');
  });

  test('sends bodies of any kind unchanged and records a copy', async () => {
    const recorder = recordCassette();
    const stream = ReadableStream.from([encode('str'), encode('eam')]);
    const post = (body: RequestInit['body']): Parameters<typeof fetch> => [
      base,
      { method: 'POST', body: body ?? null, duplex: 'half' },
    ];
    const requests: readonly (readonly [string, Parameters<typeof fetch>])[] = [
      ['text', post('text')],
      ['bytes', post(encode('bytes'))],
      ['a=b+c', post(new URLSearchParams({ a: 'b c' }))],
      ['blob', post(new Blob(['blob']))],
      ['stream', post(stream)],
      ['request', [new Request(base, { method: 'PUT', body: 'request' })]],
    ];
    for (const [text, args] of requests) {
      const fetching = recorder.fetch(...args);
      const [request, answer] = await nextRequest();
      expect(decode(Buffer.concat(await request.toArray()))).toBe(text);
      answer.end();
      await (await fetching).text();
      const { exchanges } = await recorder.settled();
      expect(decode(exchanges.at(-1)?.request.body)).toBe(text);
    }
  });

  test('returns a response without a body as fetch does', async () => {
    const recorder = recordCassette();
    const fetching = recorder.fetch(base);
    const [, answer] = await nextRequest();
    answer.writeHead(204).end();
    const response = await fetching;
    expect(response.body).toBeNull();
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange).toMatchObject({ response: { status: 204, chunks: [] }, end: { how: 'end' } });
  });

  test('supports readers with their own buffers, as fetch does', async () => {
    const recorder = recordCassette();
    const fetching = recorder.fetch(base);
    const [, answer] = await nextRequest();
    answer.write('abcdef');
    const reader = (await fetching).body?.getReader({ mode: 'byob' });
    expect(decode((await reader?.read(new Uint8Array(4)))?.value)).toBe('abcd');
    expect(decode((await reader?.read(new Uint8Array(4)))?.value)).toBe('ef');
    answer.end();
    expect((await reader?.read(new Uint8Array(4)))?.done).toBe(true);
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange && textsOf(exchange)).toEqual(['abcdef']);
  });
});

/** A fetch without a network, whose body has these chunks. */
function fakeFetch(chunks: readonly unknown[], headers: Record<string, string> = {}): typeof fetch {
  return async () =>
    new Response(ReadableStream.from(chunks) as ReadableStream<Uint8Array>, { headers });
}

async function readAll({ body }: Response): Promise<readonly unknown[]> {
  const chunks: unknown[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return chunks;
}

describe('a recording fetch', () => {
  test('records a last chunk that arrives together with the end', async () => {
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(encode('all'));
        controller.close();
      },
    });
    const recorder = recordCassette({ fetch: async () => new Response(body) });
    expect(await (await recorder.fetch('http://h.example')).text()).toBe('all');
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange && textsOf(exchange)).toEqual(['all']);
  });

  test('does not read ahead of its reader', async () => {
    let reads = 0;
    const body = new ReadableStream(
      {
        pull(controller) {
          controller.enqueue(encode(String(reads++)));
        },
      },
      { highWaterMark: 0 },
    );
    const recorder = recordCassette({ fetch: async () => new Response(body) });
    const reader = (await recorder.fetch('http://h.example')).body?.getReader();
    for (const count of [1, 2]) {
      await reader?.read();
      await new Promise((resolve) => setImmediate(resolve));
      expect(reads).toBe(count);
    }
    await reader?.cancel();
  });

  test('records its own copy, because the reader may overwrite the bytes', async () => {
    const recorder = recordCassette({ fetch: fakeFetch([encode('abc')]) });
    for (const chunk of await readAll(await recorder.fetch('http://h.example'))) {
      (chunk as Uint8Array).fill(0);
    }
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange && textsOf(exchange)).toEqual(['abc']);
  });

  test.each([
    ['bytes of the exchange', { maxExchangeBytes: 7 }],
    ['bytes in all', { maxTotalBytes: 7 }],
    ['chunks', { maxChunksPerExchange: 2 }],
  ])('stops to record at the limit of %s, and passes everything on', async (_, limits) => {
    const chunks = ['abc', 'def', 'ghi', 'j'].map(encode);
    const recorder = recordCassette({ fetch: fakeFetch(chunks), limits });
    expect(await readAll(await recorder.fetch('http://h.example'))).toEqual(chunks);
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange && textsOf(exchange)).toEqual(['abc', 'def']);
    expect(exchange?.end).toMatchObject({ how: 'end', clipped: { chunks: 2, bytes: 4 } });
  });

  test('sends a request that is too large to record', async () => {
    const sent: unknown[] = [];
    const fake: typeof fetch = async (_, init) => {
      sent.push(await new Response(init?.body).text());
      return new Response(null);
    };
    const recorder = recordCassette({ fetch: fake, limits: { maxExchangeBytes: 5 } });
    const stream = ReadableStream.from([encode('abc'), encode('def'), encode('ghi')]);
    for (const body of ['abcdefghi', stream]) {
      await recorder.fetch('http://h.example', { method: 'POST', body });
    }
    expect(sent).toEqual(['abcdefghi', 'abcdefghi']);
    for (const { request } of (await recorder.settled()).exchanges) {
      expect(request).toMatchObject({ isBodyClipped: true });
      expect(request).not.toHaveProperty('body');
    }
  });

  test('stops reading a request body after its response has ended', async () => {
    let hasLetGo = false;
    const endless = new ReadableStream({
      start: (controller) => controller.enqueue(encode('and so on')),
      cancel() {
        hasLetGo = true;
      },
    });
    const fake: typeof fetch = async (_, init) => {
      // Not awaited: it resolves only when the recorder has cancelled its branch too.
      (init?.body as ReadableStream | undefined)?.cancel().catch(() => {});
      return new Response('no');
    };
    const recorder = recordCassette({ fetch: fake });
    await (await recorder.fetch('http://h.example', { method: 'POST', body: endless })).text();
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange?.request.isBodyClipped).toBe(true);
    expect(hasLetGo).toBe(true);
  });

  test('counts the requests beyond its limit', async () => {
    const recorder = recordCassette({ fetch: fakeFetch(['x']), limits: { maxExchanges: 1 } });
    for (const _ of [1, 2, 3]) await readAll(await recorder.fetch('http://h.example'));
    expect(await recorder.settled()).toMatchObject({ exchanges: [{}], unrecorded: 2 });
  });

  test('passes chunks on that are not bytes', async () => {
    const chunks = [encode('a'), 'text', encode('b')];
    const recorder = recordCassette({ fetch: fakeFetch(chunks) });
    expect(await readAll(await recorder.fetch('http://h.example'))).toEqual(chunks);
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange && textsOf(exchange)).toEqual(['a']);
    expect(exchange?.end.clipped).toEqual({ chunks: 2, bytes: 1 });
  });

  test('delivers the whole body if onExchange throws, and settled rejects', async () => {
    const failure = new Error('disk full');
    const onExchange = () => {
      throw failure;
    };
    const recorder = recordCassette({ fetch: fakeFetch([encode('a')]), onExchange });
    expect(await (await recorder.fetch('http://h.example')).text()).toBe('a');
    await expect(recorder.settled()).rejects.toBe(failure);
  });

  test('fails as fetch does for invalid arguments', async () => {
    const recorder = recordCassette();
    await expect(recorder.fetch('http://h.example', { headers: { 'a b': '' } })).rejects.toThrow(
      TypeError,
    );
    await expect(recorder.fetch('http://no url/')).rejects.toThrow(TypeError);
    expect((await recorder.settled()).exchanges).toMatchObject([
      { request: { url: 'about:invalid' }, end: { how: 'error' } },
    ]);
  });

  test('removes secrets from errors', async () => {
    const recorder = recordCassette({
      fetch: () => Promise.reject(new TypeError('no route to hush-hush with sk-1234567890')),
      secrets: ['hush-hush'],
    });
    await expect(recorder.fetch('http://h.example')).rejects.toThrow('sk-1234567890');
    const [exchange] = (await recorder.settled()).exchanges;
    expect(exchange?.end.error?.message).toBe('no route to (redacted) with (redacted)');
  });
});

test('a cassette contains no secret, in any encoding and with any split of the body', async () => {
  const key = fc
    .string({ unit: fc.constantFrom(...'abcdefghXYZ0123456789_-'), minLength: 12, maxLength: 24 })
    .map((rest) => `sk-ant-${rest}`);
  const secret = fc
    .string({ unit: fc.constantFrom(...'abXY12/"\\%+ é€😀\n&='), minLength: 6, maxLength: 12 })
    .map((text) => `Q${text}Z`);
  const writings: readonly ((text: string) => string)[] = [
    (text) => text,
    (text) => JSON.stringify(text).slice(1, -1),
    (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
    encodeURIComponent,
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        key,
        secret,
        write: fc.constantFrom(...writings),
        around: fc.array(fc.constantFrom('data: {"a":"', '\n\n', '"}', 'é', ' ', '\\'), {
          maxLength: 4,
        }),
        cuts: fc.array(fc.nat(400), { maxLength: 12 }),
        end: fc.constantFrom('end', 'cancel'),
      }),
      async ({ key, secret, write, around, cuts, end }) => {
        const text = [...around, write(secret), ...around, ' ', key, ' ', ...around].join('');
        const bytes = encode(text);
        const at = [...cuts.filter((cut) => cut < bytes.length), 0, bytes.length].sort(
          (a, b) => a - b,
        );
        const chunks = at.slice(1).map((to, index) => bytes.subarray(at[index], to));
        const full = chunks.filter(({ length }) => length > 0);
        const headers = { 'x-request-id': encodeURIComponent(secret), 'x-api-key': key };
        const recorder = recordCassette({ fetch: fakeFetch(chunks, headers), secrets: [secret] });
        const url = `http://u:pass@h.example/${encodeURIComponent(secret)}?key=${key}&q=${key}`;
        const response = await recorder.fetch(url, { method: 'POST', headers, body: text });
        if (end === 'end') expect(await readAll(response)).toEqual(chunks);
        else {
          const reader = response.body?.getReader();
          for (const _ of chunks) await reader?.read();
          await reader?.cancel();
        }
        const cassette = await recorder.settled();
        const kept = cassette.exchanges[0]?.response?.chunks.map((chunk) => chunk.bytes) ?? [];
        expect(kept.map(({ length }) => length)).toEqual(full.map(({ length }) => length));

        // Check the encoded text and the joined body bytes: neither may contain the secret in any
        // form.
        const body = decode(Buffer.concat(kept));
        for (const place of [encodeCassette(cassette), body]) {
          expect(place).not.toContain(key);
          for (const form of writings) expect(place).not.toContain(form(secret));
        }
      },
    ),
  );
});
