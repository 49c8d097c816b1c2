import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@millrace/log';
import { expect, test } from 'vitest';
import { rawRequest } from '../testing/raw-request.ts';
import { startTestServer } from '../testing/servers/test-server.ts';
import { admitConnection } from './access/connection-limit.ts';
import { NodeListener } from './adapters/node-listener.ts';
import { defaultHttpLimits } from './http-limits.ts';
import { RequestsAhead } from './open-connections.ts';

// In the attack, 20 connections send 40,000 requests of 50 bytes and do not read the answers. This kept the
// server busy for 10 s. No token was needed.

const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
const request = requestOf('/healthz');
const answersIn = (text: string) => text.split('HTTP/1.1 200').length - 1;

test.for([
  ['a path that everybody may read', '/healthz'],
  ['an unknown path', '/nothing'],
  ['a path that cannot be decoded', '/%zz'],
] as const)(
  'attack: a connection that sends thousands of requests at once is closed: %s',
  async ([, path]) => {
    const lines: string[] = [];
    const requestLog = { format: 'text', write: (line: string) => void lines.push(line) } as const;
    await using server = await startTestServer({ operators: ['a'], requestLog });
    await rawRequest(server.port, requestOf(path).repeat(2000));
    expect(lines.length).toBeLessThanOrEqual(100);
    expect((await server.request('/healthz')).status).toBe(200);
  },
);

test('18.690: attack: requests with an unknown expectation pass by the limits', async () => {
  const lines: string[] = [];
  const requestLog = { format: 'text', write: (line: string) => void lines.push(line) } as const;
  await using server = await startTestServer({ operators: ['a'], requestLog });
  const unknown = 'GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nexpect: x\r\n\r\n';
  // The connection ends although the client has not closed it. All answers come from the server and not from Node.
  const { text } = await rawRequest(server.port, unknown.repeat(2000));
  expect(text).not.toContain('HTTP/1.1 417');
  expect(answersIn(text)).toBeLessThanOrEqual(100);
  const last = unknown.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n');
  expect((await rawRequest(server.port, last)).status).toBe(200);
  expect(lines.length).toBeGreaterThan(0);
});

test('18.691: attack: the rest of a chunk is parsed after its first requests closed the connection', async () => {
  let requests = 0;
  const listener = new NodeListener({
    ...{ limits: defaultHttpLimits, clock: systemClock, closing: new AbortController().signal },
    onRequest: ({ socket }) => {
      requests++;
      socket.destroy();
    },
  });
  const port = await listener.listen(0, '127.0.0.1');
  await rawRequest(port, requestOf('/').repeat(1500));
  await listener.close();
  expect(requests).toBeGreaterThan(0);
  expect(requests).toBeLessThan(150);
});

test('attack: paths that cannot be decoded count for the rate limit, and need a token', async () => {
  await using server = await startTestServer({ operators: ['a'] });
  const { text } = await rawRequest(server.port, requestOf('/%zz'), (got) => got.endsWith('}'));
  expect(text).toContain('HTTP/1.1 401');
});

test('a connection can send some requests ahead, and many one after the other', async () => {
  await using server = await startTestServer({ operators: ['a'] });
  const all = (count: number) => (text: string) => answersIn(text) === count;
  const { text } = await rawRequest(server.port, request.repeat(100), all(100));
  expect(answersIn(text)).toBe(100);
  for (let left = 150; left > 0; left--)
    expect((await server.request('/healthz')).status).toBe(200);
});

/** A connection of a test. Its requests have the given number of headers. As in Node, only one response has it. */
class TestConnection {
  readonly socket: Socket;
  readonly #unanswered: ServerResponse[] = [];
  readonly #requests: RequestsAhead;
  readonly #rawHeaders: readonly string[];
  readonly #headers: IncomingMessage['headers'];

  constructor(requests: RequestsAhead, headers = 0, named: IncomingMessage['headers'] = {}) {
    this.#requests = requests;
    this.#headers = named;
    const fields = { destroyed: false, destroy: () => {}, _httpMessage: {} };
    const socket = Object.assign(new EventEmitter(), fields);
    socket.destroy = () => {
      socket.destroyed = true;
      socket.emit('close');
    };
    this.socket = socket as unknown as Socket;
    this.#rawHeaders = Array.from({ length: headers }, () => ['name', 'value']).flat();
  }

  send(answer: (response: ServerResponse) => void = () => {}): void {
    const { socket } = this;
    const request = {
      ...{ socket, httpVersionMajor: 1, rawHeaders: this.#rawHeaders, headers: this.#headers },
      readableHighWaterMark: 65_536,
    };
    const isFirst = this.#unanswered.length === 0;
    const fields = { socket: isFirst ? socket : null };
    const response = Object.assign(new EventEmitter(), fields) as ServerResponse;
    this.#unanswered.push(response);
    response.once('close', () => {
      this.#unanswered.shift();
      const [next] = this.#unanswered;
      if (next !== undefined) Object.assign(next, { socket }).emit('socket', socket);
    });
    this.#requests.add(request as unknown as IncomingMessage, response, () => answer(response));
  }
}

test('18.558: attack: many connections with requests sent ahead block the event loop', async () => {
  const requests = new RequestsAhead();
  const [connections, ahead] = [100, 50];
  let answers = 0;
  for (let count = 0; count < connections; count++) {
    const connection = new TestConnection(requests);
    admitConnection(connection as unknown as IncomingMessage);
    for (let sent = 0; sent <= ahead; sent++) {
      connection.send((response) => {
        answers++;
        // Like a refusal, the answer needs no input or output.
        queueMicrotask(() => response.emit('close'));
      });
    }
  }
  let most = 0;
  expect(answers).toBe(connections);
  for (let turn = 0; answers < connections * (ahead + 1) && turn < 1000; turn++) {
    const before = answers;
    await nextTurn();
    most = Math.max(most, answers - before);
  }
  expect(answers).toBe(connections * (ahead + 1));
  expect(most).toBeLessThanOrEqual(20);
});

test('18.979: attack: requests sent ahead without a token start before those of an accepted caller', async () => {
  const requests = new RequestsAhead();
  let unknown = 0;
  for (let count = 0; count < 100; count++) {
    const connection = new TestConnection(requests);
    for (let sent = 0; sent < 2; sent++)
      connection.send((response) => {
        unknown++;
        queueMicrotask(() => response.emit('close'));
      });
  }
  const accepted = new TestConnection(requests);
  admitConnection(accepted as unknown as IncomingMessage);
  let answers = 0;
  for (let sent = 0; sent < 2; sent++)
    accepted.send((response) => {
      answers++;
      queueMicrotask(() => response.emit('close'));
    });
  const before = unknown;
  for (let turn = 0; answers < 2 && turn < 1000; turn++) await nextTurn();
  expect(answers).toBe(2);
  expect(unknown - before).toBeLessThanOrEqual(10);
});

test('18.660: attack: connections without a token fill the memory with requests sent ahead', () => {
  const requests = new RequestsAhead();
  const headers = 100;
  const open = () => {
    const connection = new TestConnection(requests, headers);
    // The first request is never answered, so the others wait.
    for (let sent = 0; sent < 98; sent++) connection.send();
    return connection;
  };
  const connections = Array.from({ length: 1000 }, open);
  const kept = connections.filter(({ socket }) => !socket.destroyed);
  // Each waiting request needs about 16 KiB, and all of them together can have 8 MiB.
  expect(kept.length).toBeGreaterThan(3);
  expect(kept.length * 97 * 16).toBeLessThan(8 * 1024);
  // An accepted caller has a limit of its own.
  const accepted = new TestConnection(requests, headers);
  admitConnection(accepted as unknown as IncomingMessage);
  for (let sent = 0; sent < 98; sent++) accepted.send();
  expect(accepted.socket.destroyed).toBe(false);
  // Connections that end leave room for others.
  for (const { socket } of kept) socket.destroy();
  expect(open().socket.destroyed).toBe(false);
});

test.each([
  [{ 'transfer-encoding': 'chunked' }, 128],
  [{ 'content-length': '1000000' }, 128],
  [{ 'content-length': '0' }, 4096],
])(
  '18.747: attack: requests sent ahead with %j fill the memory with their bodies',
  (headers, most) => {
    const requests = new RequestsAhead();
    let sent = 0;
    for (let count = 0; count < 100; count++) {
      const connection = new TestConnection(requests, 0, headers);
      for (let at = 0; at < 90; at++) {
        connection.send();
        if (connection.socket.destroyed) break;
      }
      if (connection.socket.destroyed) break;
      sent += 89;
    }
    // 8 MiB for connections without a token, and 64 KiB for each body.
    expect(sent).toBeLessThanOrEqual(most);
  },
);

test('18.746: attack: the body of a request that waits keeps each of its small chunks', async () => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  const listener = new NodeListener({
    ...{ limits: defaultHttpLimits, clock: systemClock, closing: new AbortController().signal },
    onRequest: (request) => {
      // The server parses only bodies of callers that it has accepted.
      admitConnection(request);
      arrived.resolve(request);
    },
  });
  const port = await listener.listen(0, '127.0.0.1');
  const head = 'POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n';
  const sending = rawRequest(port, `${head}${'1\r\nx\r\n'.repeat(20_000)}0\r\n\r\n`);
  const request = await arrived.promise;
  await expect.poll(() => request.readableLength).toBe(20_000);
  let chunks = 0;
  let length = 0;
  request.on('data', (bytes: Buffer) => {
    chunks++;
    length += bytes.length;
  });
  await once(request, 'end');
  expect(length).toBe(20_000);
  expect(chunks).toBeLessThan(1000);
  request.socket.destroy();
  await sending;
  await listener.close();
});
