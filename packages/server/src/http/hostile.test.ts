import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allRoutes } from '../routes/all-routes.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { startTestServer, type TestServer } from '../testing/servers/test-server.ts';
import { Router } from './router.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Checks that the server still answers. */
async function isStillUp(of = server): Promise<void> {
  const { status, json } = await of.request('/healthz');
  expect([status, json]).toEqual([200, { status: 'healthy' }]);
}

const head = (method: string, path: string, ...headers: readonly string[]) =>
  [`${method} ${path} HTTP/1.1`, 'host: localhost', ...headers, '', ''].join('\r\n');
const jsonHead = (length: number) =>
  head('POST', '/messages', 'content-type: application/json', `content-length: ${length}`);

test.each(['/'.repeat(15_000), `/streams/${'a/'.repeat(7000)}`, `/app/${'%2f/'.repeat(300)}`])(
  '18.811: attack: a path with thousands of segments is compared with all routes: %#',
  async (path) => {
    const { status, text } = await rawRequest(server.port, head('GET', path, 'connection: close'));
    expect([status, text.includes('/openapi.json lists all paths')]).toEqual([404, true]);
  },
);

test('18.811: a path with many segments has its route', () => {
  const router = new Router(allRoutes);
  const path = (segments: number) => `/streams/${'a/'.repeat(segments - 1)}b`;
  expect(router.find('GET', path(255))?.params).toEqual({ path: `${'a/'.repeat(254)}b` });
  expect(router.find('GET', path(256))).toBeUndefined();
});

describe('a body', () => {
  test('of 10 MB is rejected by its content-length, before it arrives', async () => {
    const { status, text } = await rawRequest(server.port, jsonHead(10 * 2 ** 20));
    expect(status).toBe(413);
    expect(text).toContain('"too_large"');
    expect(text).toMatch(/connection: close/i);
    await isStillUp();
  });

  test('of 10 MB without content-length is rejected', async () => {
    const chunk = `10000\r\n${'x'.repeat(2 ** 16)}\r\n`;
    const type = 'content-type: application/json';
    const bytes = head('POST', '/messages', type, 'transfer-encoding: chunked') + chunk.repeat(160);
    const { status } = await rawRequest(server.port, bytes);
    expect(status).toBe(413);
    await isStillUp();
  });

  test.each([
    ['10,000 deep', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 400],
    ['invalid JSON', '{"task_id": ', 400],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400],
    ['too large for a double', '{"task_id":1e999}', 400],
    ['a list', '[]', 422],
    ['a text', '"x"', 422],
    ['of another shape', '{"task_id":1}', 422],
    ['empty', '', 422],
  ])('that is %s is rejected with the position of the error', async (_what, body, status) => {
    const type = 'content-type: application/json';
    const bytes = Buffer.from(body);
    const length = `content-length: ${bytes.length}`;
    const start = head('POST', '/messages', type, length, 'connection: close');
    const answer = await rawRequest(server.port, Buffer.concat([Buffer.from(start), bytes]));
    expect(answer.status).toBe(status);
    const json = JSON.parse(answer.text.slice(answer.text.indexOf('\r\n\r\n')));
    expect(json).toMatchObject(status === 422 ? { status_code: 10_422 } : { code: status });
    expect(json.data).toBeNull();
    await isStillUp();
  });

  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
  ])('of type %s, which any page can send, is not read', async (type) => {
    const { status, json } = await server.request('/messages', {
      body: '{}',
      headers: { 'content-type': type },
    });
    expect([status, json.error.code]).toEqual([415, 'unsupported_media_type']);
  });

  test.each([['gzip'], ['br'], ['deflate, gzip'], ['x']])(
    'that is compressed as %s is rejected before decompression',
    async (encoding) => {
      await using server = await startTestServer();
      const headers = { 'content-encoding': encoding };
      const { status, json } = await server.request('/messages', { headers, body: '{}' });
      expect([status, json.error.code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  test('cannot change object prototypes', async () => {
    const body = `{"id":1,"method":"task/create","params":{"name":"proto","params":{"__proto__":{"isAdmin":true}}}}`;
    const { json } = await server.request('/agents/name/echo/rpc', { body });
    expect(json.result.name).toBe('proto');
    const outside = body.replace(/}$/, ',"__proto__":{"method":"x"}}');
    const refused = await server.request('/agents/name/echo/rpc', { body: outside });
    expect(refused.json.error.message).toContain('it has other fields');
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });
});

describe('a request head', () => {
  test('with thousands of headers is rejected', async () => {
    const flood = Array.from({ length: 5000 }, (_, n) => `x-flood-${n}: ${'y'.repeat(20)}`);
    const { status, text } = await rawRequest(server.port, head('GET', '/healthz', ...flood));
    expect(status).toBe(431);
    expect(text).toContain('"headers_too_large"');
    await isStillUp();
  });

  test('with one long header is rejected', async () => {
    const bytes = head('GET', '/healthz', `x-long: ${'y'.repeat(2 ** 17)}`);
    expect((await rawRequest(server.port, bytes)).status).toBe(431);
    await isStillUp();
  });

  test.each([
    ['no HTTP', 'hello, is this a server?\r\n\r\n'],
    ['no host', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n'],
    ['two hosts', head('GET', '/healthz', 'host: evil.example', 'connection: close')],
    ['another host in its path', head('GET', 'http://evil.example/healthz', 'connection: close')],
    ['two lengths', head('POST', '/messages', 'content-length: 1', 'content-length: 2')],
    [
      'a length and chunks (request smuggling)',
      head('POST', '/messages', 'content-length: 4', 'transfer-encoding: chunked'),
    ],
    ['an unknown method', head('EXPLODE', '/healthz')],
    ['a bare line feed in a header', 'GET /healthz HTTP/1.1\nhost: localhost\nx: a\r\r\n\n'],
  ])('with %s is rejected', async (_what, bytes) => {
    const { status, text } = await rawRequest(server.port, bytes);
    expect(status).toBe(400);
    expect(text).toContain('"bad_request"');
    await isStillUp();
  });
});

describe('a slow client', () => {
  // A server with short timeouts. Only these tests use it, because on a busy machine any request may take
  // longer.
  let impatient: TestServer;
  beforeAll(async () => {
    impatient = await startTestServer({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 400 } });
  });
  afterAll(() => impatient[Symbol.asyncDispose]());

  test('that delays the headers is disconnected with an error', async () => {
    const { status, text } = await rawRequest(impatient.port, 'GET /healthz HTTP/1.1\r\nhost: loc');
    expect(status).toBe(408);
    expect(text).toContain('"request_timeout"');
    await isStillUp(impatient);
  });

  test('that delays the body is disconnected with an error', async () => {
    const { status } = await rawRequest(impatient.port, `${jsonHead(100)}{"task_id"`);
    expect(status).toBe(408);
    await isStillUp(impatient);
  });

  test('does not block others, even two hundred at once', async () => {
    const sockets = Array.from({ length: 200 }, () => {
      const socket = connect(impatient.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write('GET /healthz HTTP/1.1\r\nx-slow: ');
      return socket;
    });
    const closed = sockets.map(
      (socket) => new Promise((resolve) => socket.on('close', resolve).resume()),
    );
    await isStillUp(impatient);
    await Promise.all(closed);
    await isStillUp(impatient);
  });
});

describe('connections', () => {
  test('beyond the limit are closed, and those within it still work', async () => {
    await using few = await startTestServer({ limits: { maxConnections: 3 } });
    // The server accepts the callers of this path. A connection whose caller it has not accepted gives way.
    const get = 'GET /tasks HTTP/1.1\r\nhost: localhost\r\n\r\n';
    const sockets = Array.from({ length: 3 }, () => connect(few.port, '127.0.0.1'));
    const answers = sockets.map(
      (socket) => new Promise<Buffer>((resolve) => socket.once('data', resolve)),
    );
    for (const socket of sockets) socket.write(get);
    for (const answer of answers) expect(String(await answer)).toContain('200 OK');
    expect((await rawRequest(few.port, get)).status).toBe(0);
    const again = new Promise<Buffer>((resolve) => sockets[0]?.once('data', resolve));
    sockets[0]?.write(get);
    expect(String(await again)).toContain('200 OK');
    for (const socket of sockets) socket.destroy();
  });
});

describe('a path', () => {
  test.each([
    ['GET', '/no/such/path', 404],
    ['DELETE', '/healthz', 405],
    ['PUT', '/agents/name/echo/rpc', 405],
    ['HEAD', '/tasks', 405],
    ['GET', '/tasks/unknown', 404],
    ['GET', '/tasks/name/unknown/stream', 404],
    ['GET', '/tasks/%00', 422],
    ['GET', '/tasks/%', 400],
    ['GET', '/tasks/%c0%af', 400],
    ['GET', '/tasks?limit=0', 422],
    ['GET', '/tasks?limit=1e3', 422],
    ['GET', '/tasks?limit=5&limit=6', 422],
    ['GET', '/tasks?order_by=constructor', 422],
    ['GET', '/tasks?task_metadata={', 422],
    ['GET', '/tasks?__proto__[x]=1', 200],
    ['GET', '/messages', 422],
  ])('%s %s gives %i', async (method, path, status) => {
    const answer = await rawRequest(server.port, head(method, path, 'connection: close'));
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain('"internal"');
    if (status === 405) expect(answer.text).toMatch(/^allow: [A-Z, ]+\r$/im);
    await isStillUp();
  });

  test('with an id that is too long is rejected', async () => {
    const path = `/tasks/${'x'.repeat(3000)}`;
    const answer = await rawRequest(server.port, head('GET', path, 'connection: close'));
    expect(answer.status).toBe(422);
  });

  test.each([
    ['/tasks/t/blobs/../../../etc/passwd'],
    ['/tasks/t/blobs/..%2f..%2fetc%2fpasswd'],
    ['/tasks/t/blobs/%2e%2e'],
    [`/tasks/t/blobs/${'A'.repeat(64)}`],
  ])('that leaves the blob folder is rejected: %s', async (path) => {
    const answer = await rawRequest(server.port, head('GET', path, 'connection: close'));
    expect([404, 422]).toContain(answer.status);
  });

  test.each([['x'], ['-1'], ['1.'], ['1.5.2'], ['1e9'], ['99999999999999999999']])(
    'with an invalid cursor is rejected: %s',
    async (from) => {
      const { json } = await server.request('/agents/name/echo/rpc', {
        body: { method: 'task/create' },
      });
      const { id } = json.result;
      expect((await server.request(`/tasks/${id}/stream?from=${from}`)).status).toBe(422);
      const headers = { 'last-event-id': from };
      expect((await server.request(`/tasks/${id}/stream`, { headers })).status).toBe(422);
    },
  );
});
