import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../transport/clock.ts';
import {
  type BodyEnd,
  type Cassette,
  CassetteError,
  type RecordedExchange,
  type RecordedRequest,
} from '../cassette.ts';
import { decodeCassette } from '../format/decode-cassette.ts';
import { encodeCassette } from '../format/encode-cassette.ts';
import { recordCassette } from '../record/record-cassette.ts';
import { replayFetch } from './replay-fetch.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

const url = 'https://h.example/v1/chat';

/** A clock that advances only on request of the test. */
class TestClock implements Clock {
  #now = 5000;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  get waiting(): number {
    return this.#timers.length;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Lets pending tasks finish, then advances the time. */
  async advance(ms: number): Promise<void> {
    await nextMacrotask();
    const until = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = next.at;
      next.run();
      await nextMacrotask();
    }
    this.#now = until;
  }
}

const nextMacrotask = () => new Promise((resolve) => setImmediate(resolve));

interface ExchangeOptions {
  readonly request?: Partial<RecordedRequest>;
  readonly chunks?: readonly string[];
  readonly end?: Partial<BodyEnd>;
}

/** An exchange with headers after 10 ms, one chunk every 10 ms, and the end 10 ms later. */
function exchange({ request = {}, chunks = [], end = {} }: ExchangeOptions = {}): RecordedExchange {
  return {
    startMs: 0,
    request: { method: 'GET', url, headers: {}, ...request },
    response: {
      atMs: 10,
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      chunks: chunks.map((text, index) => ({ atMs: 20 + 10 * index, bytes: encode(text) })),
    },
    end: { atMs: 20 + 10 * chunks.length, how: 'end', ...end },
  };
}

const cassette = (...exchanges: readonly RecordedExchange[]): Cassette => ({ exchanges });

async function readAll({ body }: Response): Promise<readonly string[]> {
  const chunks: string[] = [];
  for await (const chunk of body ?? []) chunks.push(decode(chunk));
  return chunks;
}

describe('a replay gives the same answer', () => {
  test('with status, headers and one chunk a read', async () => {
    const replay = replayFetch(cassette(exchange({ chunks: ['a', 'b\n', 'cde'] })));
    const response = await replay(url);
    expect(response).toMatchObject({ status: 200, ok: true, url });
    expect([...response.headers]).toEqual([['content-type', 'text/event-stream']]);
    expect(await readAll(response)).toEqual(['a', 'b\n', 'cde']);
  });

  test('from the same cassette again', async () => {
    const tape = cassette(exchange({ chunks: ['abc'] }));
    for (const _ of [1, 2]) {
      expect(await readAll(await replayFetch(tape)(url))).toEqual(['abc']);
    }
  });

  test('with a macrotask before each chunk at instant speed, for any recorded times', async () => {
    const replay = replayFetch(cassette(exchange({ chunks: ['a', 'b'], end: { atMs: 1e12 } })));
    const reader = (await replay(url)).body?.getReader();
    for (const text of ['a', 'b']) {
      let hadTurn = false;
      setImmediate(() => {
        hadTurn = true;
      });
      expect(decode((await reader?.read())?.value)).toBe(text);
      expect(hadTurn).toBe(true);
    }
    expect((await reader?.read())?.done).toBe(true);
  });

  test('to readers with their own buffers', async () => {
    const replay = replayFetch(cassette(exchange({ chunks: ['abc'] })));
    const reader = (await replay(url)).body?.getReader({ mode: 'byob' });
    expect(decode((await reader?.read(new Uint8Array(2)))?.value)).toBe('ab');
    expect(decode((await reader?.read(new Uint8Array(2)))?.value)).toBe('c');
    expect((await reader?.read(new Uint8Array(2)))?.done).toBe(true);
  });

  test.each([204, 999])('with status %d', async (status) => {
    const recorded = exchange();
    const response = recorded.response && { ...recorded.response, status };
    const replay = replayFetch(cassette({ ...recorded, ...(response && { response }) }));
    const answer = await replay(url);
    expect({ status: answer.status, ok: answer.ok }).toEqual({ status, ok: status === 204 });
    expect(await answer.text()).toBe('');
  });
});

describe('a replay at a speed', () => {
  test.each([
    [1, 1],
    [2, 0.5],
    [0.1, 10],
  ])('of %d takes %d times as long', async (speed, factor) => {
    const clock = new TestClock();
    const replay = replayFetch(cassette(exchange({ chunks: ['a', 'b'] })), { speed, clock });
    const received: [string, number][] = [];
    const start = clock.now();
    const note = (what: string) => received.push([what, clock.now() - start]);
    const reading = (async () => {
      const { body } = await replay(url);
      note('headers');
      for await (const chunk of body ?? []) note(decode(chunk));
      note('end');
    })();
    await clock.advance(40 * factor);
    await reading;
    expect(received).toEqual([
      ['headers', 10 * factor],
      ['a', 20 * factor],
      ['b', 30 * factor],
      ['end', 40 * factor],
    ]);
    expect(clock.waiting).toBe(0);
  });

  test('gives a late reader the due chunks, still one per read', async () => {
    const clock = new TestClock();
    const replay = replayFetch(cassette(exchange({ chunks: ['a', 'b', 'c'] })), {
      speed: 1,
      clock,
    });
    const fetching = replay(url);
    await clock.advance(35);
    const reader = (await fetching).body?.getReader();
    expect(decode((await reader?.read())?.value)).toBe('a');
    expect(decode((await reader?.read())?.value)).toBe('b');
    const third = reader?.read();
    expect(clock.waiting).toBe(1);
    await clock.advance(5);
    expect(decode((await third)?.value)).toBe('c');
    await reader?.cancel();
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('of %d is rejected', (speed) => {
    expect(() => replayFetch(cassette(), { speed })).toThrow(
      expect.objectContaining({ code: 'bad_option' }),
    );
  });
});

describe('an abort', () => {
  const reason = new Error('stop it');

  test('before the request rejects it and uses no exchange', async () => {
    const replay = replayFetch(cassette(exchange({ chunks: ['a'] })));
    await expect(replay(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await readAll(await replay(url))).toEqual(['a']);
  });

  test('before the headers rejects the request and stops the timer', async () => {
    const clock = new TestClock();
    const aborter = new AbortController();
    const fetching = replayFetch(cassette(exchange()), { speed: 1, clock })(
      new Request(url, { signal: aborter.signal }),
    );
    await clock.advance(9);
    expect(clock.waiting).toBe(1);
    aborter.abort(reason);
    await expect(fetching).rejects.toBe(reason);
    expect(clock.waiting).toBe(0);
  });

  test('while a chunk is pending fails the body and stops the timer', async () => {
    const clock = new TestClock();
    const aborter = new AbortController();
    const { signal } = aborter;
    const fetching = replayFetch(cassette(exchange({ chunks: ['a', 'b'] })), { speed: 1, clock })(
      url,
      { signal },
    );
    await clock.advance(20);
    const reader = (await fetching).body?.getReader();
    expect(decode((await reader?.read())?.value)).toBe('a');
    const second = reader?.read();
    expect(clock.waiting).toBe(1);
    aborter.abort(reason);
    await expect(second).rejects.toBe(reason);
    await expect(reader?.closed).rejects.toBe(reason);
    expect(clock.waiting).toBe(0);
  });

  test('at the moment when the headers arrive fails the body', async () => {
    const aborter = new AbortController();
    const clock: Clock = {
      now: () => 0,
      after(_, run) {
        run();
        aborter.abort(reason);
        return () => {};
      },
    };
    const replay = replayFetch(cassette(exchange({ chunks: ['a'] })), { speed: 1, clock });
    const response = await replay(url, { signal: aborter.signal });
    await expect(response.text()).rejects.toBe(reason);
  });

  test('between two reads fails the body too, and has no effect after the end', async () => {
    const replay = replayFetch(cassette(exchange({ chunks: ['a'] }), exchange({ chunks: ['a'] })));
    const aborters = [new AbortController(), new AbortController()];
    const readers = await Promise.all(
      aborters.map(async ({ signal }) => (await replay(url, { signal })).body?.getReader()),
    );
    for (const reader of readers) await reader?.read();
    expect((await readers[1]?.read())?.done).toBe(true);
    for (const aborter of aborters) aborter.abort(reason);
    await expect(readers[0]?.read()).rejects.toBe(reason);
    await expect(readers[1]?.closed).resolves.toBeUndefined();
  });

  test('is not needed to stop the timer: a cancellation stops it too', async () => {
    const clock = new TestClock();
    const fetching = replayFetch(cassette(exchange({ chunks: ['a'] })), { speed: 1, clock })(url);
    await clock.advance(10);
    const reader = (await fetching).body?.getReader();
    const read = reader?.read();
    expect(clock.waiting).toBe(1);
    await reader?.cancel();
    expect((await read)?.done).toBe(true);
    expect(clock.waiting).toBe(0);
  });
});

describe('a recording without a normal end', () => {
  const error = {
    name: 'TypeError',
    message: 'terminated',
    cause: { name: 'SocketError', message: 'other side closed', code: 'UND_ERR_SOCKET' },
  };

  async function failureOf(end: Partial<BodyEnd>): Promise<unknown> {
    const replay = replayFetch(cassette(exchange({ chunks: ['a'], end })));
    const reader = (await replay(url)).body?.getReader();
    expect(decode((await reader?.read())?.value)).toBe('a');
    return reader?.read().catch((failure: unknown) => failure);
  }

  test('fails at the same point with the same error', async () => {
    const failure = await failureOf({ how: 'error', error });
    expect(failure).toBeInstanceOf(TypeError);
    expect(failure).toMatchObject({ message: 'terminated', cause: error.cause });
  });

  test('is not replayed past the point where its reader cancelled', async () => {
    expect(await failureOf({ how: 'cancelled' })).toMatchObject({ code: 'cut' });
  });

  test('is not replayed past the limit of the recorder', async () => {
    const failure = await failureOf({ how: 'end', clipped: { chunks: 2, bytes: 50 } });
    expect(failure).toBeInstanceOf(CassetteError);
    expect(failure).toMatchObject({ code: 'clipped' });
  });

  test('rejects the request if there was no response', async () => {
    const { startMs, request } = exchange();
    const broken = { startMs, request, end: { atMs: 3, how: 'error', error } as const };
    const timeout = { name: 'TimeoutError', message: 'too slow' };
    const slow = { startMs, request, end: { atMs: 3, how: 'error', error: timeout } as const };
    const left = { startMs, request, end: { atMs: 3, how: 'cancelled' } as const };
    const replay = replayFetch(cassette(broken, slow, left));
    await expect(replay(url)).rejects.toThrow(new TypeError('terminated'));
    await expect(replay(url)).rejects.toMatchObject({ name: 'TimeoutError', message: 'too slow' });
    await expect(replay(url)).rejects.toMatchObject({ code: 'cut' });
  });
});

describe('a request', () => {
  const post = (body: string | undefined, more: Partial<RecordedRequest> = {}) =>
    exchange({
      request: { method: 'POST', ...(body === undefined ? {} : { body: encode(body) }), ...more },
      chunks: ['answer'],
    });

  async function rejectionOf(
    recorded: readonly RecordedExchange[],
    ...request: Parameters<typeof fetch>
  ): Promise<CassetteError> {
    const failure = await replayFetch(cassette(...recorded))(...request).catch((error) => error);
    expect(failure).toBeInstanceOf(CassetteError);
    return failure as CassetteError;
  }

  test('matches with any host and any order of JSON keys', async () => {
    const replay = replayFetch(cassette(post('{"a":1,"b":[true,null]}')));
    const init = { method: 'post', body: '{ "b": [true, null], "a": 1.0 }' };
    expect(await readAll(await replay('http://localhost:1/v1/chat', init))).toEqual(['answer']);
  });

  test('matches with another key in its query, and with another secret in its body', async () => {
    const recorded = post('{"user":"(redacted)"}', { url: `${url}?key=(redacted)&alt=sse` });
    const replay = replayFetch(cassette(recorded), { secrets: ['secret-2'] });
    const init = { method: 'POST', body: '{"user":"secret-2"}' };
    expect(await readAll(await replay(`${url}?key=other&alt=sse`, init))).toEqual(['answer']);
  });

  test('20.8: of another session matches, because the session does not change the answer', async () => {
    const recorded = [
      post('{"q":1,"prompt_cache_key":"session-1"}'),
      post('{"q":1,"session_id":"a","metadata":{"session_id":"a"}}'),
    ];
    const replay = replayFetch(cassette(...recorded));
    const send = (body: string) => replay(url, { method: 'POST', body });
    expect((await send('{"q":1,"prompt_cache_key":"session-2"}')).status).toBe(200);
    const nested = '{"q":1,"session_id":"b","metadata":{"session_id":"b"}}';
    const { message } = await rejectionOf(recorded.slice(1), url, { method: 'POST', body: nested });
    expect(message).toContain('differs in body at $.metadata.session_id;');
    expect((await send(nested.replace('{"session_id":"b"}', '{"session_id":"a"}'))).status).toBe(
      200,
    );
  });

  test('that is repeated gets the recorded answers in order', async () => {
    const recorded = ['one', 'two'].map((text) => exchange({ chunks: [text] }));
    const replay = replayFetch(cassette(...recorded));
    const answers = await Promise.all([replay(url), replay(url)]);
    expect(await Promise.all(answers.map(readAll))).toEqual([['one'], ['two']]);
  });

  test('may arrive before one that was recorded earlier', async () => {
    const paths = ['/a', '/b', '/c'];
    const recorded = paths.map((path) => exchange({ request: { url: path }, chunks: [path] }));
    const replay = replayFetch(cassette(...recorded));
    for (const path of ['/c', '/a', '/b']) {
      expect(await readAll(await replay(`http://h.example${path}`))).toEqual([path]);
    }
  });

  test.each([
    ['method', url, { method: 'PUT', body: '{}' }, ['method (POST was recorded)']],
    [
      'path',
      'https://h.example/v2',
      { method: 'POST', body: '{}' },
      ['path (/v1/chat was recorded)'],
    ],
    [
      'query',
      `${url}?a=1&b=2`,
      { method: 'POST', body: '{}' },
      ['query parameter a', 'query parameter b'],
    ],
    ['body', url, { method: 'POST', body: '{"a b":1}' }, ['body at $["a b"]']],
    ['no body', url, { method: 'POST' }, ['body at byte 0']],
    ['no JSON', url, { method: 'POST', body: '{]' }, ['body at byte 1']],
  ])('that differs in its %s is rejected with that difference', async (_, to, init, words) => {
    const error = await rejectionOf([post('{}')], to, init);
    expect(error.code).toBe('no_match');
    expect(error.message).toContain(`differs in ${words.join(', ')};`);
    expect(error.place).toMatchObject({ request: 1, exchange: 0, method: init.method });
  });

  test('is rejected with the paths of the JSON differences, never with values', async () => {
    const recorded = {
      model: 'm',
      messages: [{ role: 'user', content: 'hush-1' }, { x: 1 }],
      n: 1,
    };
    const asked = { model: 'm', messages: [{ role: 'user', content: 'hush-2' }], n: '1', t: 0 };
    const init = { method: 'POST', body: JSON.stringify(asked) };
    const { message } = await rejectionOf([post(JSON.stringify(recorded))], url, init);
    expect(message).toContain(
      'differs in body at $.messages[0].content, body at $.messages[1], body at $.n, body at $.t;',
    );
    expect(message).not.toContain('hush');
  });

  test('with many differences is rejected with some of them', async () => {
    const values = (value: number) =>
      JSON.stringify(Object.fromEntries([...'abcdefgh'].map((key) => [key, value])));
    const { message } = await rejectionOf([post(values(1))], url, {
      method: 'POST',
      body: values(2),
    });
    expect(message).toContain('body at $.e, more of the body;');
    expect(message).not.toContain('$.f');
  });

  test('does not match one that was too large to record', async () => {
    const recorded = exchange({ request: { isBodyClipped: true } });
    expect((await rejectionOf([recorded], url)).message).toContain('too large to be recorded');
  });

  test('does not use an exchange that it did not match', async () => {
    const replay = replayFetch(cassette(post('{}')));
    await expect(replay(url)).rejects.toMatchObject({ code: 'no_match', place: { request: 1 } });
    const init = { method: 'POST', body: '{}' };
    expect(await readAll(await replay(url, init))).toEqual(['answer']);
    await expect(replay(url, init)).rejects.toMatchObject({
      code: 'exhausted',
      message: expect.stringContaining('all 1 exchanges'),
      place: { request: 3, method: 'POST', path: '/v1/chat' },
    });
  });
});

test('a recorded, encoded, decoded and replayed stream equals the original', async () => {
  const bodies = fc.array(
    fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Uint8Array.from(bytes)),
    { maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(bodies, { minLength: 1, maxLength: 3 }), async (responses) => {
      const next = responses.values();
      const live: typeof fetch = async () =>
        new Response(ReadableStream.from(next.next().value ?? []));
      const recorder = recordCassette({ fetch: live });
      const got: Uint8Array[][] = [];
      for (const index of responses.keys()) got.push(await bytesOf(recorder.fetch, index));
      const replay = replayFetch(decodeCassette(encodeCassette(await recorder.settled())));
      for (const index of responses.keys())
        expect(await bytesOf(replay, index)).toEqual(got[index]);
      expect(got).toEqual(responses);
    }),
  );

  async function bytesOf(fetch: typeof globalThis.fetch, index: number): Promise<Uint8Array[]> {
    const chunks: Uint8Array[] = [];
    const response = await fetch(url, { method: 'POST', body: String(index) });
    for await (const chunk of response.body ?? []) chunks.push(chunk);
    return chunks;
  }
});

test('31.D6: assertUsedUp throws as long as recorded exchanges are unused', async () => {
  const replay = replayFetch(cassette(exchange({ chunks: ['a'] }), exchange({ chunks: ['b'] })));
  const problem = (): unknown => {
    try {
      return replay.assertUsedUp();
    } catch (error) {
      return error;
    }
  };
  expect(problem()).toMatchObject({ code: 'unused', place: { exchange: 0 } });
  await replay(url);
  expect(problem()).toMatchObject({
    ...{ code: 'unused', place: { exchange: 1 } },
    message: expect.stringContaining('1 of 2 exchanges'),
  });
  await replay(url);
  expect(problem()).toBeUndefined();
});
