import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { rawRequest } from '../../testing/raw-request.ts';
import { startTestServer, testToken } from '../../testing/servers/test-server.ts';
import { ParseTurns } from '../adapters/parse-turns.ts';
import { admitConnection, ConnectionLimit } from './connection-limit.ts';

const fieldsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `x-${at}: v${at}\r\n`).join('');

test.for([
  ['of a client without a token', '', 401],
  ['of an operator', `authorization: Bearer ${testToken('operator')}\r\n`, 200],
] as const)(
  '18.800: attack: a request %s has a thousand header fields, which need 250 KB of memory',
  async ([, token, usual]) => {
    await using server = await startTestServer({ operators: ['operator'] });
    const statusOf = async (fields: number) => {
      const head = `GET /tasks HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n${token}`;
      return (await rawRequest(server.port, `${head}${fieldsOf(fields)}\r\n`)).status;
    };
    expect(await statusOf(97)).toBe(usual);
    // Node itself ignores fields above a limit.
    for (const fields of [99, 200, 250, 900, 1100]) expect(await statusOf(fields)).toBe(431);
  },
);

test('18.801: attack: a second host header hides behind many other fields', async () => {
  await using server = await startTestServer({ operators: ['operator'] });
  const head = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n${fieldsOf(90)}HOST: localhost\r\n`;
  expect((await rawRequest(server.port, `${head}\r\n`, (got) => got.includes('}'))).status).toBe(
    400,
  );
});

const rawHeaders = Array.from({ length: 90 }, () => ['name', 'x'.repeat(150)]).flat();

/** The connections of a server whose sockets are streams of a test. */
class TestConnections {
  readonly #server = new EventEmitter();
  readonly #all: Socket[] = [];

  constructor() {
    new ConnectionLimit(10_000, systemClock).watch(this.#server as Server);
    new ParseTurns().watch(this.#server as Server);
  }

  open(): Socket {
    const socket = new Duplex({ read: () => {}, write: () => {} }) as unknown as Socket;
    // Node parses the bytes here.
    socket.on('data', () => {});
    this.#server.emit('connection', socket);
    this.#all.push(socket);
    onTestFinished(() => void socket.destroy());
    return socket;
  }

  /** Passes a request to the server. The response is not finished before it emits `close`. */
  request(socket: Socket, headers: IncomingMessage['headers'], complete: boolean) {
    const fields = { socket, headers, rawHeaders, complete, readableHighWaterMark: 65_536 };
    const request = Object.assign(new EventEmitter(), fields);
    const response = new EventEmitter();
    this.#server.emit('request', request, response);
    return { request: request as unknown as IncomingMessage, response };
  }

  kept(): number {
    return this.#all.filter(({ destroyed }) => !destroyed).length;
  }
}

/** More connections than have room in the memory. */
const many = 3500;
const body = { 'content-length': '9' };

test.for(['is not answered', 'is refused before its body has arrived'] as const)(
  '18.802: attack: thousands of clients without a token each send a request that %s',
  (how) => {
    const connections = new TestConnections();
    const honest = connections.open();
    const accepted = connections.request(honest, {}, true);
    admitConnection(accepted.request, {
      caller: 'operator',
      grant: { scope: { kind: 'all' }, expiresAt: null },
    });
    for (let count = 0; count < many; count++) {
      const { response } = connections.request(connections.open(), body, false);
      if (how !== 'is not answered') response.emit('close');
    }
    // Each request needs about 27 KB, and all of them together can have 64 MiB.
    expect(connections.kept()).toBeGreaterThan(1000);
    expect(connections.kept()).toBeLessThan(2600);
    // The last ones have room, and so has a caller that the server has accepted before.
    expect(honest.destroyed).toBe(false);
    const last = connections.open();
    connections.request(last, body, false);
    expect(last.destroyed).toBe(false);
  },
);

test('18.802: requests that have ended need no memory', () => {
  const connections = new TestConnections();
  for (let count = 0; count < many; count++) {
    const { request, response } = connections.request(connections.open(), body, count % 2 === 0);
    response.emit('close');
    request.emit('end');
  }
  expect(connections.kept()).toBe(many);
});

test('18.803: attack: thousands of clients without a token each send a head without its end', async () => {
  const connections = new TestConnections();
  const part = Buffer.from(`GET / HTTP/1.1\r\n${'ab:cd\r\n'.repeat(2000)}`);
  for (let count = 0; count < many; count++) {
    connections.open().emit('data', part);
    // The bytes are parsed, and do not wait for it.
    if (count % 10 === 0) await nextTurn();
  }
  expect(connections.kept()).toBeGreaterThan(1000);
  expect(connections.kept()).toBeLessThan(2600);
});

test('18.803: heads of usual requests that arrive in parts are read', async () => {
  await using server = await startTestServer({ operators: ['operator'] });
  const client = connect(server.port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  let text = '';
  client.on('data', (bytes) => {
    text += bytes.toString();
  });
  client.write('GET /healthz HTTP/1.1\r\nho');
  expect((await server.request('/healthz')).status).toBe(200);
  client.write('st: 127.0.0.1\r\n\r\nGET /healthz HTTP/1.1\r\n');
  await expect.poll(() => text).toContain('healthy');
  text = '';
  client.write('host: 127.0.0.1\r\n\r\n');
  await expect.poll(() => text).toContain('healthy');
});
