import { once } from 'node:events';
import { createServer as createNodeServer, request as nodeRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { createServer, type Server, type ServerOptions } from '../../create-server.ts';
import { eventually } from '../../testing/servers/task-harness.ts';
import { fastifyPlugin } from './fastify-plugin.ts';
import { WebResponse } from './web-exchange.ts';

// Every adapter of a server answers the same request in the same way. The expected answers come from the
// server's own port, which other tests check.

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** The parts of JSON answers that the tests read. */
interface Answered {
  readonly result: { readonly id: string };
  readonly message: string;
  readonly servers: unknown;
}

const jsonOf = async (response: Response) => (await response.json()) as Answered;

type Send = (sent: Sent) => Promise<Response>;

const token = 'mr_0123456789abcdefghijklmnopqrstuvwxyz';
const bearer = { authorization: `Bearer ${token}` };
const json = { 'content-type': 'application/json' };
const basePath = '/api/agents';
const limits = { maxBodyBytes: 2000, maxHeaderBytes: 4000, closeTimeoutMs: 200 };

const options: ServerOptions = {
  tokens: [token],
  hosts: ['agents.example'],
  origins: ['https://app.example'],
  limits,
  agents: [
    {
      type: 'sync',
      name: 'weather',
      onMessage: async () => ({ type: 'text', author: 'agent', content: 'Sunny' }),
    },
  ],
};

/** Sends the request through a socket, because `fetch` cannot send every header. */
const overSocket =
  (port: number): Send =>
  ({ method = 'GET', path, headers = {}, body, signal }) =>
    new Promise((resolve, reject) => {
      const target = { port, host: '127.0.0.1', path: `${basePath}${path}`, method, headers };
      // Each request has a connection of its own, because a server closes a connection that waits too long.
      const options = { ...target, agent: false as const, ...(signal && { signal }) };
      const sending = nodeRequest(options, (incoming) => {
        const { statusCode: status = 0, headers: received } = incoming;
        const pairs = Object.entries(received).map(([name, value]) => [name, String(value)]);
        const isEmpty = status === 204 || status === 304;
        const stream = isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
        resolve(new Response(stream, { status, headers: Object.fromEntries(pairs) }));
      });
      sending.on('error', reject);
      sending.end(body);
    });

const overFetch =
  ({ fetch }: Pick<Server, 'fetch'>): Send =>
  ({ path, method = 'GET', headers = {}, body, signal }) =>
    fetch(
      new Request(`http://127.0.0.1${basePath}${path}`, {
        ...{ method, headers },
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      }),
    );

const entrances = {
  port: async (own: ServerOptions) => {
    const server = createServer({ ...own, basePath });
    const { url } = await server.listen({ port: 0 });
    return { send: overSocket(Number(new URL(url).port)), server, stop: async () => {} };
  },
  fetch: async (own: ServerOptions) => {
    const server = createServer({ ...own, basePath });
    return { send: overFetch(server), server, stop: async () => {} };
  },
  handler: async (own: ServerOptions) => {
    const server = createServer({ ...own, basePath });
    const node = createNodeServer(server.handler());
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
    const { port } = node.address() as AddressInfo;
    const stop = async () => void node.close().closeAllConnections();
    return { send: overSocket(port), server, stop };
  },
  'Fastify plugin': async (own: ServerOptions) => {
    const server = createServer(own);
    const app = fastify({ forceCloseConnections: true });
    await app.register(fastifyPlugin(server), { prefix: basePath });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    return { send: overSocket(port), server, stop: () => app.close() };
  },
} as const;

type Entrance = Awaited<ReturnType<(typeof entrances)['fetch']>>;
type EntranceName = keyof typeof entrances;
const names = Object.keys(entrances) as readonly EntranceName[];

const rpc = { method: 'POST', path: '/agents/name/weather/rpc' };
const createTask = { ...rpc, headers: { ...json, ...bearer }, body: '{"method":"task/create"}' };

const requests: readonly (readonly [string, Sent, number])[] = [
  ['a health check', { path: '/healthz' }, 200],
  ['HEAD', { method: 'HEAD', path: '/healthz' }, 200],
  ['gzip', { path: '/openapi.json', headers: { 'accept-encoding': 'gzip' } }, 200],
  ['a list', { path: '/tasks?limit=5', headers: bearer }, 200],
  ['a bad query', { path: '/tasks?limit=five', headers: bearer }, 422],
  ['a JSON-RPC request', createTask, 200],
  ['no token', { path: '/tasks' }, 401],
  ['a wrong token', { path: '/tasks', headers: { authorization: 'Bearer guess' } }, 401],
  ['a foreign host', { path: '/tasks', headers: { ...bearer, host: 'evil.example' } }, 421],
  ['two hosts', { path: '/tasks', headers: { ...bearer, host: 'a.example, b.example' } }, 421],
  ['its host', { path: '/tasks', headers: { ...bearer, host: 'agents.example' } }, 200],
  ['another origin', { path: '/tasks', headers: { ...bearer, origin: 'https://x.test' } }, 403],
  ['another site', { path: '/tasks', headers: { ...bearer, 'sec-fetch-site': 'cross-site' } }, 403],
  [
    'an allowed origin',
    { path: '/tasks', headers: { ...bearer, origin: 'https://app.example' } },
    200,
  ],
  [
    'a preflight',
    { method: 'OPTIONS', path: '/tasks', headers: { origin: 'https://app.example' } },
    204,
  ],
  ['an unknown path', { path: '/nothing', headers: bearer }, 404],
  ['another method', { method: 'PUT', path: '/tasks', headers: bearer }, 405],
  ['a path that cannot be decoded', { path: '/tasks/%zz', headers: bearer }, 400],
  ['no body', { ...rpc, headers: bearer }, 200],
  ['a body that is not JSON', { ...createTask, body: '{' }, 200],
  [
    'a body of another type',
    { ...createTask, headers: { ...bearer, 'content-type': 'text/plain' } },
    415,
  ],
  [
    'a compressed body',
    { ...createTask, headers: { ...createTask.headers, 'content-encoding': 'gzip' } },
    415,
  ],
  ['a large body', { ...createTask, body: `"${'x'.repeat(2000)}"` }, 413],
  ['large headers', { path: '/tasks', headers: { ...bearer, 'x-long': 'x'.repeat(4000) } }, 431],
];

describe.each(names)('%s', (name) => {
  let at: Entrance;
  let reference: Entrance;
  const lines: string[] = [];
  beforeAll(async () => {
    const requestLog = { format: 'text', write: (line: string) => void lines.push(line) } as const;
    at = await entrances[name]({ ...options, requestLog });
    reference = await entrances.port(options);
  });
  afterAll(async () => {
    for (const one of [at, reference]) {
      await one.server.close();
      await one.stop();
    }
  });

  /** Returns the parts of a response that must be equal. Ids and times may differ. */
  const essence = async (response: Response) => {
    const { status, headers } = response;
    const text = (await response.text()).replaceAll(
      /(?<=")[0-9a-z]{24}(?=")|\d{4}-\d\d-\d\dT[\d:.]+Z/g,
      'x',
    );
    const content = ['content-type', 'content-length', 'content-encoding'];
    const kept = ['access-control-allow-origin', 'allow', 'cache-control', ...content];
    const security = ['cross-origin-resource-policy', 'vary', 'www-authenticate'];
    const found = [...kept, ...security].map((one) => [one, headers.get(one)]);
    return { status, text, headers: Object.fromEntries(found) };
  };

  test.each(requests)('answers %s as the port does', async (what, sent, status) => {
    const answer = await essence(await at.send(sent));
    expect(answer.status).toBe(status);
    // Node or Fastify answers these requests before the server receives them.
    if (what === 'large headers') return;
    if (what === 'a path that cannot be decoded' && name === 'Fastify plugin') return;
    expect(answer).toEqual(await essence(await reference.send(sent)));
  });

  test('knows its paths only below the base path', async () => {
    const outside = await at.server.fetch(
      new Request('http://127.0.0.1/tasks', { headers: bearer }),
    );
    const isMounted = name !== 'Fastify plugin';
    expect(outside.status).toBe(isMounted ? 404 : 200);
    const beside = new Request(`http://127.0.0.1${basePath}x/tasks`, { headers: bearer });
    expect((await at.server.fetch(beside)).status).toBe(404);
    const document = await jsonOf(await at.send({ path: '/openapi.json' }));
    expect(document.servers).toEqual([{ url: basePath }]);
  });

  test('streams a task, and closes the stream when the client leaves', async () => {
    const { result } = await jsonOf(await at.send(createTask));
    const leaving = new AbortController();
    const path = `/tasks/${result.id}/stream?view=updates`;
    const response = await at.send({ path, headers: bearer, signal: leaving.signal });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = (response.body ?? Readable.toWeb(Readable.from([]))).getReader();
    const decoder = new TextDecoder();
    let text = '';
    const readUntil = async (word: string) => {
      while (!text.includes(word)) text += decoder.decode((await reader.read()).value);
    };
    await readUntil('retry:');
    const content = { type: 'text', author: 'user', content: 'Hello' };
    const params = { task_id: result.id, content };
    const message = JSON.stringify({ method: 'message/send', params });
    expect((await at.send({ ...createTask, body: message })).status).toBe(200);
    await readUntil('Sunny');
    leaving.abort();
    const rest = reader.read();
    // For a client, `fetch` rejects. A framework that reads the response of `server.fetch` sees the end of
    // the body.
    if (name === 'fetch') expect((await rest).done).toBe(true);
    else await expect(rest).rejects.toThrow();
    // A request is logged when its response is closed.
    await eventually(async () => lines.some((line) => line.includes(`/tasks/${result.id}/stream`)));
  });
});

describe('a server without tokens', () => {
  const open: ServerOptions = { ...options, tokens: 'none' };

  test('does not answer through fetch, which does not know where a request comes from', async () => {
    const { send, server } = await entrances.fetch(open);
    onTestFinished(() => server.close());
    const response = await send({ path: '/tasks' });
    expect(response.status).toBe(401);
    expect((await jsonOf(response)).message).toContain('`authorize`');
    expect((await send({ path: '/healthz' })).status).toBe(200);
  });

  test('answers through fetch if the address of the client is one of this machine', async () => {
    const clientAddress: ServerOptions['clientAddress'] = ({ headers }) =>
      headers.get('x-real-ip') ?? undefined;
    const { send, server } = await entrances.fetch({ ...open, clientAddress });
    onTestFinished(() => server.close());
    const from = async (address: string) =>
      (await send({ path: '/tasks', headers: { 'x-real-ip': address } })).status;
    expect(await from('127.0.0.1')).toBe(200);
    expect(await from('::ffff:127.0.0.1')).toBe(200);
    expect(await from('10.0.0.7')).toBe(401);
  });

  test('22.9: ignores a bearer token that it does not know, and refuses an agent key', async () => {
    const { send, server, stop } = await entrances.handler(open);
    onTestFinished(async () => {
      await server.close();
      await stop();
    });
    const status = async (headers: Readonly<Record<string, string>>) =>
      (await send({ path: '/tasks', headers })).status;
    expect(await status(bearer)).toBe(200);
    expect(await status({ authorization: 'Basic c2VjcmV0' })).toBe(200);
    expect(await status({ 'x-agent-api-key': token })).toBe(401);
    expect(await status({ ...bearer, 'x-forwarded-for': '203.0.113.7' })).toBe(401);
    const rights = { headers: json, method: 'POST', path: '/tokens' };
    const limited = await send({ ...rights, body: '{"read_only":true}' });
    const { token: readOnly } = (await limited.json()) as { readonly token: string };
    const asked = { ...createTask, headers: { ...json, authorization: `Bearer ${readOnly}` } };
    expect((await send(asked)).status).toBe(403);
  });

  test('answers through a handler if the connection comes from this machine', async () => {
    const { send, server, stop } = await entrances.handler(open);
    onTestFinished(async () => {
      await server.close();
      await stop();
    });
    expect((await send({ path: '/tasks' })).status).toBe(200);
  });
});

test.each([
  ['gzip, deflate, br', 'gzip'],
  ['br, GZIP;q=0.5', 'gzip'],
  ['gzip ; q=0, identity', null],
  ['br', null],
  ['', null],
])('22.12: JSON for accept-encoding "%s" has the encoding %s', async (accepted, encoding) => {
  const [weather] = options.agents ?? [];
  const agents = Array.from({ length: 30 }, (_, n) => ({ ...weather, name: `weather-${n}` }));
  const { send, server } = await entrances.port({ ...options, agents: agents as never });
  onTestFinished(() => server.close());
  const plain = Buffer.from(await (await send({ path: '/agents', headers: bearer })).arrayBuffer());
  const headers = { ...bearer, 'accept-encoding': accepted, origin: 'https://app.example' };
  const sent = await send({ path: '/agents', headers });
  const bytes = Buffer.from(await sent.arrayBuffer());
  expect(sent.headers.get('content-encoding')).toBe(encoding);
  expect(sent.headers.get('vary')).toBe('accept-encoding, origin');
  expect(sent.headers.get('content-length')).toBe(`${bytes.length}`);
  expect((encoding === null ? bytes : gunzipSync(bytes)).equals(plain)).toBe(true);
  if (encoding !== null) expect(bytes.length).toBeLessThan(plain.length / 4);
  const small = await send({ path: '/healthz', headers });
  expect(small.headers.get('content-encoding')).toBe(null);
});

describe('authorize', () => {
  const authorize: ServerOptions['authorize'] = ({ headers, path, peerAddress }) => {
    const [, user] = /user=(\w+)/.exec(headers.get('cookie') ?? '') ?? [];
    if (user === undefined || path === '/agents/secret') return undefined;
    return { user, isReadOnly: user === 'guest' || peerAddress !== undefined };
  };
  const cookie = (user: string) => ({ cookie: `user=${user}` });

  test.each(['none', [token]] as const)(
    'decides about requests without a token: %j',
    async (tokens) => {
      const { send, server } = await entrances.fetch({ ...options, tokens, authorize });
      onTestFinished(() => server.close());
      const create = async (headers: Readonly<Record<string, string>>) =>
        (await send({ ...createTask, headers: { ...json, ...headers } })).status;
      expect(await create(cookie('ann'))).toBe(200);
      expect(await create(cookie('guest'))).toBe(403);
      expect(await create({})).toBe(401);
      expect((await send({ path: '/agents/secret', headers: cookie('ann') })).status).toBe(401);
      // A page of a different site cannot use the cookie.
      expect(await create({ ...cookie('ann'), origin: 'https://evil.example' })).toBe(403);
      expect(await create({ ...cookie('ann'), 'sec-fetch-site': 'cross-site' })).toBe(403);
    },
  );

  test('gives each user its own limits', async () => {
    const strict = { ...limits, requestsPerSecond: 0.001, requestBurst: 2 };
    const { send, server } = await entrances.fetch({ ...options, authorize, limits: strict });
    onTestFinished(() => server.close());
    const list = async (user: string) =>
      (await send({ path: '/tasks', headers: cookie(user) })).status;
    expect([await list('ann'), await list('ann'), await list('ann')]).toEqual([200, 200, 429]);
    expect(await list('bob')).toBe(200);
  });
});

describe('fetch', () => {
  test('can be passed without its server, and ignores further arguments', async () => {
    const { fetch: handle, close } = createServer(options);
    onTestFinished(() => close());
    const GET = handle as (request: Request, context: object) => Promise<Response>;
    const response = await GET(new Request('http://localhost/healthz'), { params: {} });
    expect(response.status).toBe(200);
  });

  test('rejects a body that was read before, and one that breaks', async () => {
    const server = createServer(options);
    onTestFinished(() => server.close());
    const post = (body: string | ReadableStream) =>
      new Request('http://localhost/agents/name/weather/rpc', {
        ...{ method: 'POST', headers: createTask.headers, body, duplex: 'half' },
      });
    const used = post(createTask.body);
    await used.text();
    const refused = await server.fetch(used);
    expect([refused.status, (await jsonOf(refused)).message]).toEqual([
      400,
      expect.stringContaining('it was read before'),
    ]);
    const broken = new ReadableStream({
      start: (controller) => controller.error(new Error('gone')),
    });
    expect((await server.fetch(post(broken))).status).toBe(400);
  });

  test('closes its streams when the server closes, with a hint to reconnect', async () => {
    const server = createServer(options);
    const send = (path: string, init: RequestInit) =>
      server.fetch(
        new Request(`http://localhost${path}`, { headers: createTask.headers, ...init }),
      );
    const { body } = createTask;
    const { result } = await jsonOf(await send(createTask.path, { method: 'POST', body }));
    const stream = await send(`/tasks/${result.id}/stream`, {});
    const text = stream.text();
    await server.close();
    expect(await text).toContain('retry:');
    const late = await send('/tasks', {});
    expect([late.status, late.headers.get('connection')]).toEqual([503, null]);
  });

  test('disconnects readers that do not read when the server closes', async () => {
    const server = createServer(options);
    const send = (path: string, init: RequestInit) =>
      server.fetch(
        new Request(`http://localhost${path}`, { headers: createTask.headers, ...init }),
      );
    const { body } = createTask;
    const { result } = await jsonOf(await send(createTask.path, { method: 'POST', body }));
    const stream = await send(`/tasks/${result.id}/stream`, {});
    await server.close();
    expect(stream.status).toBe(200);
  });
});

describe('the response of fetch', () => {
  const steps = fc.array(fc.oneof(fc.nat(30_000), fc.constant('read' as const)), { maxLength: 60 });

  test('has all bytes in order, and lets the writer wait while 16 KiB are unread', async () => {
    const property = fc.asyncProperty(steps, async (all) => {
      const response = new WebResponse(new AbortController().signal);
      let [drains, closes] = [0, 0];
      response.on('drain', () => drains++);
      response.on('close', () => closes++);
      response.writeHead(200).flushHeaders();
      const reader = ((await response.response).body as ReadableStream<Uint8Array>).getReader();
      const written: Buffer[] = [];
      let read = Buffer.alloc(0);
      const readOne = async () => {
        const { value, done } = await reader.read();
        if (value !== undefined) read = Buffer.concat([read, value]);
        return !done;
      };
      for (const [at, step] of all.entries()) {
        const unread = Buffer.concat(written).length - read.length;
        expect(response.writableLength).toBe(unread);
        if (step === 'read') {
          if (unread === 0) continue;
          const mustDrain = response.writableNeedDrain;
          const before = drains;
          await readOne();
          const isBelow = response.writableLength < 16_384;
          expect(drains - before).toBe(mustDrain && isBelow ? 1 : 0);
        } else {
          const bytes = Buffer.alloc(step, at);
          written.push(bytes);
          expect(response.write(bytes)).toBe(unread + step < 16_384);
        }
      }
      response.end('!');
      while (await readOne());
      expect(read.equals(Buffer.concat([...written, Buffer.from('!')]))).toBe(true);
      expect([closes, response.destroyed]).toEqual([1, false]);
    });
    await fc.assert(property, { numRuns: runs(300) });
  });

  test('breaks if the server disconnects, and closes if the reader cancels', async () => {
    const broken = new WebResponse(new AbortController().signal);
    broken.writeHead(200).write('half');
    broken.destroy();
    await expect((await broken.response).text()).rejects.toMatchObject({ code: 'unavailable' });
    const cancelled = new WebResponse(new AbortController().signal);
    const closed = once(cancelled, 'close');
    cancelled.writeHead(200).write('half');
    await (await cancelled.response).body?.cancel();
    await closed;
    expect([cancelled.destroyed, cancelled.write('more')]).toEqual([true, false]);
  });
});

test('20.F5: the response of fetch has no error for a client that has left, because frameworks print it', async () => {
  const client = new AbortController();
  const response = new WebResponse(client.signal);
  response.write('Once upon');
  const reader = (await response.response).body?.getReader();
  expect((await reader?.read())?.value).toHaveLength(9);
  const next = reader?.read();
  client.abort(new Error('Client connection prematurely closed.'));
  expect(await next).toEqual({ done: true, value: undefined });
  expect([response.destroyed, response.write(' a time')]).toEqual([true, false]);
});

test.each(['api', '/a//b', '/a?b', '/a b', '/../b/%2f'])('the base path %j is refused', (path) => {
  expect(() => createServer({ ...options, basePath: path })).toThrow(/Cannot use the base path/);
});
