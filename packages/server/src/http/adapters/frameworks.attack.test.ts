import { createServer as createNodeServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import type { NodeHandler } from '../../index.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// The server is mounted in an app of a framework. A client sends several requests on one connection. An error in a
// request that waits for an earlier one would end the process.

/** Starts an app, sends the requests on one connection, and returns all answers. */
async function exchange(app: (handler: NodeHandler) => NodeHandler, requests: string) {
  const server = createServer({
    tokens: [testToken('operator')],
    agents: [{ type: 'sync', name: 'a', onMessage: async () => [] }],
  });
  const node = createNodeServer(app(server.handler()));
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    node.close().closeAllConnections();
    await server.close();
  });
  const { port } = node.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.write(requests);
  return text(socket);
}

const get = 'GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n';
const last = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';

test('18.856: attack: a body is nested more deeply than it can be written again', async () => {
  const body = '['.repeat(49_000) + ']'.repeat(49_000);
  const post = (headers: string) =>
    `POST /agents/name/a/rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
  const parser =
    (handler: NodeHandler): NodeHandler =>
    async (request, response) => {
      const read = await text(request);
      Object.assign(request, { body: read === '' ? undefined : JSON.parse(read) });
      handler(request, response);
    };
  const authorized = `authorization: Bearer ${testToken('operator')}\r\n`;
  const all = await exchange(parser, get.repeat(3) + post('') + post(authorized) + last);
  expect(all.match(/HTTP\/1\.1 \d+/g)).toEqual(
    ['200', '200', '200', '401', '400', '200'].map((status) => `HTTP/1.1 ${status}`),
  );
});

test('18.857: attack: the framework answers a request that waits', async () => {
  let count = 0;
  const answering =
    (handler: NodeHandler): NodeHandler =>
    (request, response) => {
      if (++count === 3) response.writeHead(503, { 'content-length': 0 }).end();
      handler(request, response);
    };
  const all = await exchange(answering, get.repeat(5) + last);
  expect(all.match(/HTTP\/1\.1 \d+/g)).toEqual(
    ['200', '200', '503', '200', '200', '200'].map((status) => `HTTP/1.1 ${status}`),
  );
});

test('18.942: attack: the framework passes a later request on first', async () => {
  const waiting: (() => void)[] = [];
  const reversing =
    (handler: NodeHandler): NodeHandler =>
    (request, response) => {
      waiting.push(() => handler(request, response));
      if (waiting.length === 3) for (const pass of waiting.reverse()) pass();
    };
  const all = await exchange(reversing, get.repeat(2) + last);
  expect(all.match(/HTTP\/1\.1 \d+/g)).toHaveLength(3);
});

test('18.943: attack: the framework answers a request between two others', async () => {
  const answers: (() => void)[] = [];
  let count = 0;
  const own =
    (handler: NodeHandler): NodeHandler =>
    (request, response) => {
      if (++count === 2) answers.push(() => response.writeHead(503, { 'content-length': 0 }).end());
      else handler(request, response);
      response.once('close', () => answers.pop()?.());
    };
  const all = await exchange(own, get.repeat(3) + last);
  expect(all.match(/HTTP\/1\.1 \d+/g)).toEqual(
    ['200', '503', '200', '200'].map((status) => `HTTP/1.1 ${status}`),
  );
});

test('18.990: a framework passes on a request without a connection', async () => {
  const server = createServer({ tokens: [testToken('operator')], agents: [] });
  onTestFinished(() => server.close());
  const headers = { host: '127.0.0.1' };
  const request = Object.assign(new IncomingMessage(new Socket()), { headers, url: '/healthz' });
  Object.assign(request, { method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 }).push(null);
  const response = new ServerResponse(request);
  const { promise, resolve } = Promise.withResolvers<string>();
  Object.assign(response, { end: (bytes: Buffer) => resolve(bytes.toString()) });
  server.handler()(request, response);
  expect(await promise).toContain('healthy');
});
