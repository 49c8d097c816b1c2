import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Duplex } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { rawRequest } from '../../testing/raw-request.ts';
import { startTestServer } from '../../testing/servers/test-server.ts';
import { ParseTurns } from './parse-turns.ts';

const requestOf = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}\r\n`;
const padding = `x-padding: ${'a'.repeat(3900)}\r\n`;

test('18.740: attack: requests that arrive while a client reads no answers end the server', async () => {
  await using server = await startTestServer({ operators: ['a'] });
  const client = connect(server.port, '127.0.0.1');
  client.on('error', () => {}).pause();
  onTestFinished(() => void client.destroy());
  let answered = 0;
  const isPaused = async () => {
    // The client reads nothing, so Node pauses the connection when its answers fill the buffers.
    client.write(requestOf('/openapi.json').repeat(10) + requestOf('/healthz', padding).repeat(20));
    answered += (await server.request('/healthz')).status === 200 ? 1 : 0;
    return client.destroyed || answered >= 10;
  };
  await expect.poll(isPaused).toBe(true);
  expect((await server.request('/healthz')).status).toBe(200);
});

/** Starts a server whose clock shows that each slice needs a millisecond. */
async function startSlowServer() {
  let now = 0;
  let turn = 0;
  /** The turn of the event loop in which each request arrived. */
  const turns: number[] = [];
  const server = createServer((request, response) => {
    turns.push(turn);
    request.resume();
    request.once('end', () => response.end('{}'));
  });
  const next = () => {
    turn++;
    if (server.listening) setImmediate(next);
  };
  new ParseTurns(() => now++).watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  next();
  onTestFinished(() => void server.close().closeAllConnections());
  return { port: (server.address() as AddressInfo).port, turns };
}

const answersIn = (text: string) => text.split('HTTP/1.1 200').length - 1;

test('18.741: attack: bytes that need much work are parsed in one turn of the event loop', async () => {
  const { port, turns } = await startSlowServer();
  const all = requestOf('/', padding).repeat(40);
  const { text } = await rawRequest(port, all, (got) => answersIn(got) === 40);
  expect(answersIn(text)).toBe(40);
  const most = Math.max(...turns.map((one) => turns.filter((other) => other === one).length));
  expect(most).toBeLessThanOrEqual(2);
});

test('18.748: attack: thousands of connections send bytes in one turn of the event loop', () => {
  let now = 0;
  const server = new EventEmitter();
  new ParseTurns(() => now).watch(server as Server);
  const sockets = Array.from({ length: 1000 }, () => {
    const socket = new Duplex({ read: () => {}, write: () => {} });
    // Each byte needs a microsecond.
    socket.on('data', (bytes: Buffer) => {
      now += bytes.length / 1000;
    });
    server.emit('connection', socket);
    return socket;
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (const socket of sockets) socket.emit('data', Buffer.alloc(5000));
  expect(now).toBeGreaterThan(10);
  expect(now).toBeLessThan(500);
});

test('18.741: a body whose bytes wait for their turn arrives in full', async () => {
  const { port, turns } = await startSlowServer();
  const body = `3e8\r\n${'b'.repeat(1000)}\r\n`.repeat(300);
  const head = requestOf('/', 'transfer-encoding: chunked\r\n').replace('GET', 'POST');
  const { status } = await rawRequest(port, `${head}${body}0\r\n\r\n`, (got) => got.includes('{}'));
  expect(status).toBe(200);
  expect(turns).toHaveLength(1);
});

test('18.741: attack: connections without a token fill the memory with bytes that wait', async () => {
  const { port } = await startSlowServer();
  let closed = 0;
  const flood = Buffer.from('1\r\n \r\n'.repeat(10_000));
  for (let count = 0; count < 200; count++) {
    const client = connect(port, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    client.on('error', () => {}).on('close', () => closed++);
    client.write(requestOf('/', 'transfer-encoding: chunked\r\n').replace('GET', 'POST'));
    client.write(flood);
  }
  await expect.poll(() => closed, { timeout: 30_000 }).toBeGreaterThan(0);
});
