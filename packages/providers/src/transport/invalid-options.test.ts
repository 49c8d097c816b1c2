import { Readable } from 'node:stream';
import { runInNewContext } from 'node:vm';
import { countingIds, MillraceError } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const clock = new VirtualClock();
const failing = async (options: Partial<ChatOptions>) => {
  const provider = openaiChat({ model: 'm', baseUrl: 'http://127.0.0.1:9', clock, ...options });
  return (await provider.complete({ items: [] }, { ids: countingIds() })).error;
};

const final = { kind: 'invalid_request', retry: 'no', retryable: false };

describe('an invalid address is not a network error, and nothing is sent', () => {
  test.each([
    ['localhost:8080/v1', 'starts with localhost:, not http:// or https://'],
    ['ftp://example.com/v1', 'starts with ftp:, not'],
    ['file:///etc', 'starts with file:, not'],
    ['', 'is not a URL'],
    ['/v1', 'is not a URL'],
    ['http://user:word@127.0.0.1:9', 'includes credentials'],
  ])('%j', async (baseUrl, reason) => {
    const { fetch, requests } = fetchOf([]);
    const error = await failing({ baseUrl, fetch });
    expect(error).toMatchObject(final);
    expect(error?.message).toContain(reason);
    expect(requests).toEqual([]);
  });

  test('a port that fetch refuses', async () => {
    const error = await failing({ baseUrl: 'http://127.0.0.1:6000' });
    expect(error).toMatchObject(final);
    expect(error?.message).toContain('bad port');
    expect(error?.cause).toBeInstanceOf(Error);
  });

  test('that is relative to the page is valid in a browser', async () => {
    const { fetch, requests } = fetchOf([]);
    Object.assign(globalThis, { location: { href: 'https://app.example/chat' } });
    try {
      await failing({ baseUrl: '/api/model', fetch });
    } finally {
      Reflect.deleteProperty(globalThis, 'location');
    }
    expect(requests.map(({ url }) => url)).toEqual(['/api/model/chat/completions']);
  });
});

describe('an invalid fetch is not a network error', () => {
  const read = () => {
    const response = new Response('data: {}\n\n');
    response.body?.getReader();
    return response;
  };
  const ofNode = { status: 200, ok: true, headers: new Headers(), body: Readable.from(['a']) };

  test.each<[string, unknown, string]>([
    ['no function', 'fetch', 'fetch is not a function'],
    ['gives nothing', async () => undefined, 'did not return a Response'],
    ['gives null', async () => null, 'did not return a Response'],
    ['gives text', async () => 'hello', 'did not return a Response'],
    ['gives an object', async () => ({ status: 200 }), 'did not return a Response'],
    ['gives a body that is being read', async () => read(), 'is already being read'],
    ['gives a body of Node', async () => ofNode, 'is not a web stream'],
    [
      'gives text for bytes',
      async () => new Response(ReadableStream.from(['data: {}\n\n']) as ReadableStream<never>),
      'contains a value that is not bytes',
    ],
  ])('%s', async (_, fetcher, reason) => {
    const error = await failing({ fetch: fetcher as typeof fetch });
    expect(error).toMatchObject(final);
    expect(error?.message).toContain(reason);
  });

  test('is closed if its body contains other values than bytes', async () => {
    let isCancelled = false;
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue('text'),
      cancel: () => {
        isCancelled = true;
      },
    });
    expect(await failing({ fetch: async () => new Response(body) })).toMatchObject(final);
    expect(isCancelled).toBe(true);
  });

  test('reports an error of Millrace, with the cause', async () => {
    const cause = new MillraceError('exhausted', 'Cannot answer: no exchange is left');
    const error = await failing({ fetch: () => Promise.reject(cause) });
    expect(error).toMatchObject({ ...final, providerCode: 'exhausted' });
    expect(error?.message).toContain('no exchange is left');
    expect(error?.cause).toMatchObject({ name: 'MillraceError', code: 'exhausted' });
  });

  test('and so does a body', async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new MillraceError('cut', 'The recording ends here')),
    });
    const error = await failing({ fetch: async () => new Response(body) });
    expect(error).toMatchObject(final);
    expect(error?.message).toContain('The recording ends here');
  });
});

describe('what a fetch throws', () => {
  test('is reported also if it comes from another realm', async () => {
    const thrown = runInNewContext(
      "Object.assign(new TypeError('fetch failed', { cause: new Error('socket hang up') }))",
    );
    const error = await failing({ fetch: () => Promise.reject(thrown) });
    expect(error).toMatchObject({ kind: 'network', retry: 'yes' });
    expect(error?.message).toContain('socket hang up');
    expect(error?.cause).toMatchObject({
      cause: { message: 'fetch failed', cause: { message: 'socket hang up' } },
    });
  });

  test('can be any value, and is still an error', async () => {
    const thrown = new Proxy(new Error('no'), {
      get: () => {
        throw new Error('not even this');
      },
    });
    const error = await failing({ fetch: () => Promise.reject(thrown) });
    expect(error).toMatchObject({ kind: 'network', retry: 'yes' });
  });
});
