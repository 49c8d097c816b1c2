import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import {
  errorReply,
  frameRecording,
  frameSse,
  type HttpReply,
  inLockstep,
  joinBytes,
  jsonReply,
  recordingReply,
  type ScriptedServer,
  ScriptedServerError,
  type Step,
  splitAt,
  splitEvery,
  sseReply,
  startScriptedServer,
  streamReply,
} from './index.ts';
import { newGate } from './script.ts';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function start(...script: Parameters<typeof startScriptedServer>): Promise<ScriptedServer> {
  const server = await startScriptedServer(...script);
  open.push(server);
  return server;
}

/** Each read of a body until its end. */
async function readsOf(response: Response): Promise<readonly Uint8Array[]> {
  const reads: Uint8Array[] = [];
  for await (const read of response.body ?? []) reads.push(read);
  return reads;
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

const read = (value: string) => ({ done: false, value: new TextEncoder().encode(value) });

/** A client on a raw socket that sends one request. */
async function connectTo(server: ScriptedServer, path = '/'): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  open.push({ close: () => socket.destroy() });
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: scripted\r\n\r\n`);
  return socket;
}

/** The next read from the raw socket. */
async function nextRead(socket: Socket): Promise<string> {
  const [bytes] = await once(socket, 'data');
  return text(bytes);
}

/** Everything until the socket ends, with the error code if it ends with an error. */
async function untilEnd(socket: Socket): Promise<{ all: string; error: string | undefined }> {
  let all = '';
  let error: string | undefined;
  socket.on('data', (bytes) => {
    all += text(bytes);
  });
  socket.on('error', (cause: NodeJS.ErrnoException) => {
    error = cause.code;
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return { all, error };
}

describe('a reply', () => {
  test('has the given status, headers and body', async () => {
    const server = await start([
      { status: 418, headers: { 'x-tea': 'green' }, steps: ['short', ' and stout'] },
    ]);
    const response = await fetch(server.url);
    expect(response.status).toBe(418);
    expect(response.headers.get('x-tea')).toBe('green');
    expect(await response.text()).toBe('short and stout');
  });

  test('answers the next request, in order', async () => {
    const server = await start([jsonReply(200, 1)]);
    server.reply(jsonReply(201, 2), () => jsonReply(202, 3));
    const statuses = [];
    for (let nth = 0; nth < 3; nth += 1) {
      const response = await fetch(server.url);
      statuses.push([response.status, await response.json()]);
    }
    expect(statuses).toEqual([
      [200, 1],
      [201, 2],
      [202, 3],
    ]);
    server.assertUsedUp();
  });

  test('may be an asynchronous function of the request', async () => {
    const gate = newGate();
    const server = await start(async (request) => {
      await gate.pass();
      return jsonReply(200, request.body ?? null);
    });
    const answers = [1, 2].map((body) =>
      fetch(server.url, { method: 'POST', body: JSON.stringify({ body }) }),
    );
    await server.nextRequest();
    await server.nextRequest();
    gate.open();
    const bodies = await Promise.all(answers.map(async (answer) => (await answer).json()));
    expect(bodies).toEqual([{ body: 1 }, { body: 2 }]);
  });

  // Regression: the field was ignored, so a test without type checks ran no tool and passed.
  test('from an answer with an unknown field is rejected', async () => {
    const server = await start();
    const answer = { text: 'Hi', calls: [] };
    expect(() => server.answer(answer)).toThrow(/no field calls. Known fields: .*toolCalls/);
  });

  test('with steps after its end is rejected', async () => {
    const server = await start();
    for (const type of ['cut', 'stall', 'end'] as const) {
      expect(() => server.reply({ steps: ['a', { type }, 'b'] })).toThrow('Step 2');
      expect(() => server.reply({ before: [{ type: 'stall' }], steps: ['b'] })).toThrow('Step 1');
    }
    server.reply({ steps: ['a', { type: 'end' }] });
    expect(await (await fetch(server.url)).text()).toBe('a');
  });

  test('can be an error in the format of the provider', async () => {
    const failure = { type: 'RESOURCE_EXHAUSTED', message: 'Wait' };
    const server = await start([
      errorReply('openai-chat', 429, failure, { 'retry-after': '2' }),
      errorReply('anthropic', 529, failure),
      errorReply('gemini', 429, failure),
    ]);
    const first = await fetch(server.url);
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await first.json()).toEqual({ error: { ...failure, param: null, code: null } });
    const second = await fetch(server.url);
    expect([second.status, await second.json()]).toMatchObject([
      529,
      { type: 'error', error: failure },
    ]);
    const third = await fetch(server.url);
    expect(await third.json()).toEqual({
      error: { code: 429, message: 'Wait', status: 'RESOURCE_EXHAUSTED' },
    });
  });
});

describe('steps', () => {
  // TCP may join some steps. If a quarter are joined, the server does not let the client read in
  // time.
  const isMostlyApart = (readCount: number, stepCount: number) => readCount > stepCount * 0.75;

  test('reach a client in the same process in separate reads', async () => {
    const bytes = frameRecording('gemini', '{"a":1}\n{"b":"ä😀"}');
    const server = await start([streamReply(splitEvery(bytes, 1))]);
    const reads = await readsOf(await fetch(server.url));
    expect(joinBytes(reads)).toEqual(bytes);
    expect(isMostlyApart(reads.length, bytes.length)).toBe(true);
  });

  test('reach it in separate reads after a gate that was opened in the poll phase', async () => {
    const gates = Array.from({ length: 20 }, () => newGate());
    const steps = gates.flatMap((gate): Step[] => [{ type: 'wait', for: gate }, 'a', 'b']);
    const server = await start([streamReply(steps)]);
    const reads = readsOf(await fetch(server.url));
    for (const gate of gates) {
      await gate.reached;
      await stat('.'); // Code after it also runs in the poll phase, in which sockets are read.
      gate.open();
    }
    expect(joinBytes(await reads).length).toBe(40);
    expect(isMostlyApart((await reads).length, 40)).toBe(true);
  });

  test('in lockstep never share a read of fetch', async () => {
    const server = await start();
    const bytes = frameSse(['{"a":"ä😀"}', '{"b":2}'], { lineEnding: '\r\n' });
    const offsets = fc.array(fc.nat({ max: bytes.length }), { maxLength: 12 });
    const check = fc.asyncProperty(offsets, async (cuts) => {
      const pieces = splitAt(bytes, cuts);
      const lockstep = inLockstep(pieces);
      server.reply(streamReply(lockstep.steps));
      const reads = await readsOf(await lockstep.fetch(server.url));
      expect(reads.map(text)).toEqual(pieces.map(text));
    });
    await fc.assert(check, { numRuns: runs(50) });
  });

  test('in lockstep never share a read of node:http', async () => {
    const pieces = splitEvery(new TextEncoder().encode('data: {"a":1}\n\n'), 2);
    const { steps, received } = inLockstep(pieces);
    const server = await start([streamReply(steps)]);
    const reads: string[] = [];
    const [response] = await once(get(server.url, { agent: false }), 'response');
    response.on('data', (bytes: Uint8Array) => {
      reads.push(text(bytes));
      received(bytes.length);
    });
    await once(response, 'end');
    expect(reads).toEqual(pieces.map(text));
  });

  test('in lockstep accept manual reports of read bytes', async () => {
    const pieces = ['a', 'b', 'c', 'd'].map((piece) => new TextEncoder().encode(piece));
    const lockstep = inLockstep(pieces);
    const server = await start([streamReply(lockstep.steps)]);
    const response = await fetch(server.url);
    const reader = response.body?.getReader();
    for (const piece of ['a', 'b', 'c', 'd']) {
      expect(await reader?.read()).toEqual(read(piece));
      lockstep.received(1);
    }
    expect(await reader?.read()).toMatchObject({ done: true });
  });

  test('are one HTTP chunk each on the raw socket, after the headers, and are separated by gates', async () => {
    const gates = [newGate(), newGate(), newGate()] as const;
    const server = await start([
      {
        headers: { 'content-type': 'text/plain' },
        steps: [
          { type: 'wait', for: gates[0] },
          'one',
          { type: 'wait', for: gates[1] },
          Uint8Array.of(0xc3),
          { type: 'wait', for: gates[2] },
        ],
      },
    ]);
    const socket = await connectTo(server);
    const head = await nextRead(socket);
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s);
    expect(head).toContain('content-type: text/plain');
    for (const [nth, expected] of ['3\r\none\r\n', '1\r\n\xc3\r\n', '0\r\n\r\n'].entries()) {
      gates[nth]?.open();
      expect(await nextRead(socket)).toBe(expected);
    }
  });

  test('that are empty do not end the body', async () => {
    const server = await start([{ steps: ['a', '', new Uint8Array(), 'b'] }]);
    expect(await (await fetch(server.url)).text()).toBe('ab');
  });

  test('may be longer than the socket buffer', async () => {
    const long = 'x'.repeat(3_000_000);
    const server = await start([{ steps: [long, long] }]);
    expect((await (await fetch(server.url)).text()).length).toBe(6_000_000);
  });
});

describe('a gate', () => {
  test('holds a reply until it is opened, and reports when it was reached', async () => {
    const gate = newGate();
    const server = await start([streamReply(['a', { type: 'wait', for: gate }, 'b'])]);
    const response = await fetch(server.url);
    const reader = response.body?.getReader();
    expect(await reader?.read()).toEqual(read('a'));
    await gate.reached;
    const next = reader?.read();
    gate.open();
    expect(await next).toEqual(read('b'));
    expect(await reader?.read()).toMatchObject({ done: true });
  });

  test('can be placed before the status line', async () => {
    const gate = newGate();
    const server = await start([{ before: [{ type: 'wait', for: gate }], steps: ['late'] }]);
    let hasCome = false;
    const response = fetch(server.url).then((come) => {
      hasCome = true;
      return come;
    });
    await gate.reached;
    expect(hasCome).toBe(false);
    gate.open();
    expect(await (await response).text()).toBe('late');
  });

  test('releases a reply whose client has disconnected', async () => {
    const gate = newGate();
    const server = await start([streamReply(['a', { type: 'wait', for: gate }, 'b'])]);
    const socket = await connectTo(server);
    const request = await server.nextRequest();
    await gate.reached;
    socket.destroy();
    expect(await request.closed).toBe('client');
    await server.close();
  });
});

describe('a stall', () => {
  test('sends the earlier steps, then nothing, and keeps the connection open', async () => {
    const server = await start([streamReply(['a', { type: 'stall' }])]);
    const abort = new AbortController();
    const response = await fetch(server.url, { signal: abort.signal });
    const reader = response.body?.getReader();
    expect(await reader?.read()).toEqual(read('a'));
    const never = reader?.read();
    const request = await server.nextRequest();
    expect(request.isClosed).toBe(false);
    expect(server.openConnections).toBe(1);
    abort.abort();
    await expect(never).rejects.toMatchObject({ name: 'AbortError' });
    expect(await request.closed).toBe('client');
  });

  test('before the status line acts as a server that never answers', async () => {
    const server = await start([{ before: [{ type: 'stall' }], steps: [] }]);
    const abort = new AbortController();
    const response = fetch(server.url, { signal: abort.signal });
    const request = await server.nextRequest();
    abort.abort();
    await expect(response).rejects.toMatchObject({ name: 'AbortError' });
    expect(await request.closed).toBe('client');
  });
});

describe('a cut', () => {
  test('ends the body early, after all sent data', async () => {
    const server = await start([streamReply(['all ', 'of it', { type: 'cut' }])]);
    const { all, error } = await untilEnd(await connectTo(server));
    expect(all).toMatch(/4\r\nall \r\n5\r\nof it\r\n$/);
    expect(error).toBeUndefined();
    expect(await server.requests[0]?.closed).toBe('server');
  });

  test('is an error to fetch', async () => {
    const server = await start([streamReply(['all ', 'of it', { type: 'cut' }])]);
    const response = await fetch(server.url);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  test('can be a reset', async () => {
    const gate = newGate();
    const steps: readonly Step[] = [
      'a',
      { type: 'wait', for: gate },
      { type: 'cut', how: 'reset' },
    ];
    const server = await start([{ steps }]);
    const socket = await connectTo(server);
    const ended = untilEnd(socket);
    await gate.reached;
    gate.open();
    expect((await ended).error).toBe('ECONNRESET');
  });

  test('before the status line fails the request', async () => {
    const server = await start([{ before: [{ type: 'cut' }], steps: [] }]);
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
  });

  test('can send less than the content length', async () => {
    const server = await start([
      { headers: { 'content-length': '10' }, steps: ['abc', { type: 'cut' }] },
    ]);
    const response = await fetch(server.url);
    await expect(response.text()).rejects.toThrow('terminated');
  });
});

describe('a raw reply', () => {
  test('is written to the socket unchanged', async () => {
    const server = await start([{ raw: ['HTTP/1.1 2', '00 OK\r\n\r\nno length'] }]);
    const { all } = await untilEnd(await connectTo(server));
    expect(all).toBe('HTTP/1.1 200 OK\r\n\r\nno length');
    expect(await server.requests[0]?.closed).toBe('server');
  });

  test('can split headers and chunks anywhere', async () => {
    const raw =
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
    const server = await start([{ raw: splitEvery(Buffer.from(raw), 1) }]);
    expect(await (await fetch(server.url)).text()).toBe('abc');
  });

  test('does not have to be HTTP', async () => {
    const server = await start([{ raw: ['SSH-2.0-OpenSSH_9.6\r\n'] }]);
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
  });
});

describe('requests', () => {
  test('are recorded completely', async () => {
    const server = await start(() => jsonReply(200, {}));
    await fetch(`${server.url}/v1/x?alt=sse`, {
      method: 'POST',
      headers: { 'X-Api-Key': 'k', 'content-type': 'application/json' },
      body: '{"model":"m","text":"ä"}',
    });
    await fetch(server.url, { method: 'PUT', body: 'no JSON' });
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        path: '/v1/x',
        headers: { 'x-api-key': 'k' },
        text: '{"model":"m","text":"ä"}',
        body: { model: 'm', text: 'ä' },
      },
      { method: 'PUT', path: '/', text: 'no JSON', body: undefined },
    ]);
    expect(server.requests[0]?.query.get('alt')).toBe('sse');
  });

  test('are returned one by one, whether they arrive before or after nextRequest', async () => {
    const server = await start(() => jsonReply(200, {}));
    const [first, second] = [server.nextRequest(), server.nextRequest()];
    await fetch(`${server.url}/1`);
    await fetch(`${server.url}/2`);
    await fetch(`${server.url}/3`);
    const paths = [await first, await second, await server.nextRequest()].map(({ path }) => path);
    expect(paths).toEqual(['/1', '/2', '/3']);
  });

  test('without a scripted reply are rejected and reported', async () => {
    const server = await start();
    const response = await fetch(`${server.url}/v1/x`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: 'No scripted reply is left for GET /v1/x' },
    });
    expect(() => server.assertUsedUp()).toThrow('No scripted reply is left for GET /v1/x');
  });

  test('whose reply function fails are rejected and reported', async () => {
    const server = await start([
      () => {
        throw new Error('Oh');
      },
      () => ({ steps: [{ type: 'end' }, 'more'] }),
    ]);
    expect((await fetch(server.url)).status).toBe(400);
    expect((await fetch(server.url)).status).toBe(400);
    expect(() => server.assertUsedUp()).toThrow(/failed: Oh; .*others follow/);
  });

  test('whose reply cannot be sent are disconnected and reported', async () => {
    const server = await start([{ headers: { 'x-bad': 'a\nb' }, steps: [] }]);
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
    expect(() => server.assertUsedUp()).toThrow('could not be sent');
  });

  test('that their client cut are ignored', async () => {
    const server = await start([jsonReply(200, 1)]);
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc');
    await once(socket.resume(), 'close');
    expect(server.requests).toEqual([]);
    expect(await (await fetch(server.url)).json()).toBe(1);
  });
});

test('a request that is too large is disconnected', async () => {
  const server = await start([jsonReply(200, 1)]);
  const body = 'x'.repeat(64 * 2 ** 20 + 1);
  await expect(fetch(server.url, { method: 'POST', body })).rejects.toThrow('fetch failed');
  expect(server.requests).toEqual([]);
});

describe('a strict server', () => {
  const post = (server: ScriptedServer, path: string, body: object) =>
    fetch(server.url + path, { method: 'POST', body: JSON.stringify(body) });
  const user = { role: 'user', content: 'Tide?' };
  const message = 'temprature: unknown field';

  test.each([
    [
      '/v1/messages',
      { model: 'm', max_tokens: 9, messages: [user] },
      {
        type: 'error',
        error: { type: 'invalid_request_error', message },
        request_id: 'req_scripted',
      },
    ],
    [
      '/v1/chat/completions',
      { model: 'm', messages: [user] },
      { error: { message, type: 'invalid_request_error', param: null, code: null } },
    ],
    [
      '/v1/responses',
      { model: 'm', input: [user] },
      { error: { message, type: 'invalid_request_error', param: null, code: null } },
    ],
    [
      '/v1beta/models/m:streamGenerateContent',
      { contents: [{ role: 'user', parts: [{ text: 'Tide?' }] }] },
      { error: { code: 400, message, status: 'INVALID_ARGUMENT' } },
    ],
  ])('at %s rejects a bad request as the provider does', async (path, body, expected) => {
    const server = await start([jsonReply(200, 'fine')]);
    const refused = await post(server, path, { ...body, temprature: 1 });
    expect([refused.status, await refused.json()]).toEqual([400, expected]);
    expect(await (await post(server, path, body)).json()).toBe('fine');
    expect(() => server.assertUsedUp()).toThrow(`POST ${path} was refused: ${message}`);
  });

  test('lists only the first faults', async () => {
    const server = await start();
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, nth) => [`f${nth}`, nth]));
    const refused = await post(server, '/responses', { model: 'm', input: 'Tide?', ...many });
    const faults = [0, 1, 2, 3, 4].map((nth) => `f${nth}: unknown field`).join('; ');
    expect(await refused.json()).toMatchObject({ error: { message: `${faults}; and 4 more` } });
  });

  test('can be turned off', async () => {
    const server = await start([jsonReply(200, 'fine')], { strict: false });
    expect(await (await post(server, '/v1/messages', {})).json()).toBe('fine');
    server.assertUsedUp();
  });

  test('does not check other paths', async () => {
    const server = await start(() => jsonReply(200, 'fine'));
    expect(await (await post(server, '/v1/embeddings', { any: 1 })).json()).toBe('fine');
    expect(await (await fetch(`${server.url}/v1/responses`)).json()).toBe('fine');
  });

  test('takes no other options', async () => {
    const options = { stict: false } as object;
    await expect(startScriptedServer([], options)).rejects.toMatchObject({ code: 'bad_script' });
  });
});

describe('assertUsedUp', () => {
  test('throws while replies are unused', async () => {
    const server = await start([jsonReply(200, 1), jsonReply(200, 2)]);
    expect(() => server.assertUsedUp()).toThrow('2 scripted replies were never used');
    await fetch(server.url);
    expect(() => server.assertUsedUp()).toThrow(ScriptedServerError);
    await fetch(server.url);
    server.assertUsedUp();
  });
});

describe('a connection', () => {
  test('is closed by the server if the reply says so', async () => {
    const server = await start([{ headers: { connection: 'close' }, steps: ['a'] }]);
    const { all } = await untilEnd(await connectTo(server));
    expect(all).toMatch(/a\r\n0\r\n\r\n$/);
    expect(await server.requests[0]?.closed).toBe('server');
  });

  test('is closed by a client that stops reading the body', async () => {
    const server = await start([streamReply(['a', { type: 'stall' }])]);
    const response = await fetch(server.url);
    await response.body?.cancel();
    expect(await (await server.nextRequest()).closed).toBe('client');
  });

  test('may be closed by its client at any time, and the server continues', async () => {
    const server = await start(() => streamReply(Array.from({ length: 40 }, () => 'abc')));
    for (let length = 0; length < 400; length += 10) {
      const socket = await connectTo(server);
      let read = 0;
      for await (const bytes of socket) {
        read += bytes.length;
        if (read > length) break;
      }
      expect(await (await server.nextRequest()).closed).toBe('client');
    }
    expect((await (await fetch(server.url)).text()).length).toBe(120);
    server.assertUsedUp();
  });

  test('may be closed before the reply, and nothing keeps waiting', async () => {
    const server = await start(() => ({ steps: [] }));
    const sockets = await Promise.all(Array.from({ length: 30 }, () => connectTo(server)));
    for (const socket of sockets) socket.destroy();
    await server.close();
    expect(server.openConnections).toBe(0);
  });
});

describe('close', () => {
  test('ends every connection and every wait, and may be called twice', async () => {
    const gate = newGate();
    const stalled: HttpReply = { steps: ['a', { type: 'stall' }] };
    const held: HttpReply = { before: [{ type: 'wait', for: gate }], steps: [] };
    const server = await start([stalled, held, () => new Promise<never>(() => undefined)]);
    const ended = [];
    for (let nth = 0; nth < 3; nth += 1) {
      ended.push(untilEnd(await connectTo(server)));
      await server.nextRequest();
    }
    const next = server.nextRequest();
    const refused = expect(next).rejects.toMatchObject({ code: 'server_closed' });
    await Promise.all([server.close(), server.close()]);
    await Promise.all(ended);
    await refused;
    expect(await Promise.all(server.requests.map(({ closed }) => closed))).toEqual([
      'server',
      'server',
      'server',
    ]);
    expect(server.openConnections).toBe(0);
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
    await expect(server.nextRequest()).rejects.toThrow(ScriptedServerError);
    expect(() => server.reply(stalled)).toThrow('is closed');
  });

  test('is called by disposal', async () => {
    const server = await start();
    await server[Symbol.asyncDispose]();
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
  });

  test('ends idle keep-alive connections', async () => {
    const server = await start([jsonReply(200, 1)]);
    await (await fetch(server.url)).json();
    expect(server.requests[0]?.isClosed).toBe(false);
    await server.close();
    expect(server.requests[0]?.isClosed).toBe(true);
  });
});

test('many concurrent clients get their own replies', async () => {
  const server = await start((request) => sseReply([request.path, 'b']));
  const bodies = await Promise.all(
    Array.from({ length: 20 }, async (_, nth) => (await fetch(`${server.url}/${nth}`)).text()),
  );
  expect(bodies).toEqual(bodies.map((_, nth) => `data: /${nth}\n\ndata: b\n\n`));
});

test('a recording is sent in the format of its provider, one event per step', async () => {
  const recording = '{"type":"message_start"}\n{"type":"message_stop"}\n';
  const reply = recordingReply('anthropic', recording);
  const server = await start([reply]);
  const response = await fetch(server.url);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(await response.text()).toBe(
    'event: message_start\ndata: {"type":"message_start"}\n\n' +
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  );
  expect(reply.steps).toHaveLength(2);
});
