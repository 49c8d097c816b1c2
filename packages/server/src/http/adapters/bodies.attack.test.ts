import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ScopeServer } from '../../testing/scope-requests.ts';
import { fromNodeRequest } from './node-request.ts';
import { fromWebRequest } from './web-exchange.ts';

const count = 10_000;
const expected = Uint8Array.from({ length: count }, (_, at) => at);
const never = new AbortController().signal;

// Each chunk needs about 200 bytes of memory in addition to its content. If the server kept the chunks, all of them
// would have the value of the last one.

test('18.742: attack: a Node request in chunks of one byte keeps each chunk in memory', async () => {
  const fields = { headers: {}, rawHeaders: [], headersDistinct: {}, socket: {}, resume: () => {} };
  const source = Object.assign(new EventEmitter(), fields);
  const body = fromNodeRequest(source as unknown as IncomingMessage, '').readBody(count, never);
  const chunk = Buffer.alloc(1);
  for (let at = 0; at < count; at++) {
    chunk[0] = at;
    source.emit('data', chunk);
  }
  source.emit('end');
  expect(new Uint8Array(await body)).toEqual(expected);
});

test('18.742: attack: a web request in chunks of one byte keeps each chunk in memory', async () => {
  const chunk = new Uint8Array(1);
  let at = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (at === count) return controller.close();
    chunk[0] = at++;
    controller.enqueue(chunk);
  };
  const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  const options: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' };
  const request = fromWebRequest(new Request('http://localhost/', options), '');
  expect(new Uint8Array(await request.readBody(count, never))).toEqual(expected);
});

test('18.743: attack: unfinished bodies of one agent fill the memory', async () => {
  const server = await ScopeServer.start({ limits: { requestTimeoutMs: 600_000 } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const own = await server.createData('own');
  const token = await server.createToken({ agent_id: own.agent_id });
  const answers = new Map<Socket, string>();
  const length = 2 ** 20;
  const send = (by: string) => {
    const client = connect(Number(new URL(server.url).port), '127.0.0.1');
    onTestFinished(() => void client.destroy());
    client.on('error', () => {});
    // An answer can arrive in several pieces.
    client.on('data', (bytes) => answers.set(client, (answers.get(client) ?? '') + bytes));
    const head = `POST /messages HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${by}\r\n`;
    client.write(`${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`);
    client.write(Buffer.alloc(length - 1, ' '));
    return client;
  };
  const clients = Array.from({ length: 70 }, () => send(token));
  // 64 MiB fit. Only the others are refused.
  await expect.poll(() => answers.size, { timeout: 30_000 }).toBe(6);
  expect([...answers.values()].filter((answer) => !answer.startsWith('HTTP/1.1 429'))).toEqual([]);
  // Bodies that end leave room for others.
  for (const client of clients) client.destroy();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const status = async () => {
    const body = ' '.repeat(length);
    const response = await fetch(new URL('/messages', server.url), {
      method: 'POST',
      headers,
      body,
    });
    return response.status;
  };
  await expect.poll(status, { timeout: 30_000 }).toBe(400);
});
