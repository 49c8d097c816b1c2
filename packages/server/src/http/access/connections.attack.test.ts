import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { TestClock } from '@millrace/log/suite';
import { expect, onTestFinished, test } from 'vitest';
import { startTestServer, type TestServer, testToken } from '../../testing/servers/test-server.ts';

const operator = testToken('operator');
const healthz = 'GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
const requestWith = (token: string, path = '/tasks') =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`;
const authorized = requestWith(operator);

/** Opens a connection, sends a request, and returns when the answer begins. The connection stays open. */
async function hold(port: number, request: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  await ask(socket, request);
  return socket;
}

/** Asks for an answer on an open connection, and returns its first line. Fails if the server closes it. */
async function ask(socket: Socket, request: string): Promise<string> {
  socket.write(request);
  const refused = once(socket, 'close').then(() => Promise.reject(new Error('closed')));
  const [bytes] = await Promise.race([once(socket, 'data'), refused]);
  return String(bytes).split('\r\n', 1)[0] ?? '';
}

test('18.550: attack: a client without a token holds all connections', async () => {
  await using server = await startTestServer({
    ...{ operators: ['operator'], limits: { maxConnections: 8 } },
  });
  const accepted = await hold(server.port, authorized);
  const strangers: Socket[] = [];
  for (let opened = 0; opened < 20; opened++) strangers.push(await hold(server.port, healthz));
  const late = await hold(server.port, authorized);
  for (const socket of strangers.slice(0, 12)) if (!socket.closed) await once(socket, 'close');
  // The two callers with a token keep their connections.
  for (const socket of [accepted, late]) {
    expect(await ask(socket, authorized)).toBe('HTTP/1.1 200 OK');
  }
  expect(strangers.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(6);
});

test('18.550: a wrong token does not keep a connection', async () => {
  await using server = await startTestServer({
    ...{ operators: ['operator'], limits: { maxConnections: 4 } },
  });
  const wrong = authorized.replace(operator, testToken('wrong'));
  const first = await hold(server.port, wrong);
  for (let opened = 0; opened < 4; opened++) await hold(server.port, authorized);
  if (!first.closed) await once(first, 'close');
});

/** Creates a token. `revoke` revokes it, over an open connection if one is given. */
async function createToken(server: TestServer, body: Readonly<Record<string, unknown>>) {
  const headers = { authorization: `Bearer ${operator}` };
  const { json } = await server.request('/tokens', { body, headers });
  const { id, token } = json as { id: string; token: string };
  return {
    token,
    revoke: (socket: Socket) =>
      ask(socket, requestWith(operator, `/tokens/${id}`).replace('GET', 'DELETE')),
  };
}

const agents = ['echo', 'far'];

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}

test('18.670: attack: a client with few rights holds all connections', async () => {
  await using server = await startTestServer({
    ...{ agents, operators: ['operator'], limits: { maxConnections: 8 } },
  });
  const many = await createToken(server, { agent_name: 'echo', read_only: true });
  const other = await createToken(server, { agent_name: 'far', read_only: true });
  const first = await hold(server.port, authorized);
  const small = await hold(server.port, requestWith(other.token));
  const held: Socket[] = [];
  for (let opened = 0; opened < 20; opened++)
    held.push(await hold(server.port, requestWith(many.token)));
  const late = await hold(server.port, authorized);
  // The connections of the client itself made room.
  for (const socket of held.slice(0, 14)) await closed(socket);
  expect(await ask(first, authorized)).toBe('HTTP/1.1 200 OK');
  expect(await ask(late, authorized)).toBe('HTTP/1.1 200 OK');
  expect(await ask(small, requestWith(other.token))).toBe('HTTP/1.1 200 OK');
});

test('18.670: attack: a client with few rights holds all connections with requests in progress', async () => {
  await using server = await startTestServer({
    ...{ agents, operators: ['operator'], limits: { maxConnections: 5 } },
  });
  const { token } = await createToken(server, { agent_name: 'echo', read_only: true });
  const first = await hold(server.port, authorized);
  // The expected body never arrives.
  const upload = requestWith(token, '/access').replace('GET', 'POST');
  const body = 'content-type: application/json\r\ncontent-length: 1000\r\n';
  const held: Socket[] = [];
  for (let opened = 0; opened < 3; opened++) {
    const socket = await hold(server.port, requestWith(token, '/access'));
    socket.write(upload.replace(/\r\n$/, `${body}\r\n`));
    held.push(socket);
  }
  expect(await ask(await hold(server.port, authorized), authorized)).toBe('HTTP/1.1 200 OK');
  expect(await ask(first, authorized)).toBe('HTTP/1.1 200 OK');
  for (const socket of held) socket.destroy();
});

test.for([
  ['is revoked', 'revoke'],
  ['has expired', 'wait'],
] as const)(
  '18.671: attack: a client keeps all connections after its token %s',
  async ([, how]) => {
    const clock = new TestClock();
    await using server = await startTestServer({
      ...{ clock, operators: ['operator'], limits: { maxConnections: 5 } },
    });
    // The token has full access, so its connections do not make room before it ends.
    const { token, revoke } = await createToken(server, { expires_in: 60 });
    const held: Socket[] = [];
    for (let opened = 0; opened < 4; opened++)
      held.push(await hold(server.port, requestWith(token)));
    if (how === 'wait') clock.jump(60_000);
    else await revoke(held[0] as Socket);
    const late = await hold(server.port, authorized);
    expect(await ask(late, authorized)).toBe('HTTP/1.1 200 OK');
  },
);

test.for([
  ['need no token', healthz],
  ['have a wrong token', requestWith(testToken('wrong'))],
  ['are refused before the token is checked', authorized.replace('127.0.0.1', 'example.com')],
] as const)(
  '18.672: attack: requests keep a connection of an accepted caller, but %s',
  async ([, request]) => {
    await using server = await startTestServer({
      ...{ operators: ['operator'], limits: { maxConnections: 4 } },
    });
    const all: Socket[] = [];
    for (let opened = 0; opened < 4; opened++) all.push(await hold(server.port, authorized));
    const [changed, kept] = all as [Socket, Socket];
    await ask(changed, request);
    const late = await hold(server.port, authorized);
    await closed(changed);
    expect(await ask(late, authorized)).toBe('HTTP/1.1 200 OK');
    expect(await ask(kept, authorized)).toBe('HTTP/1.1 200 OK');
  },
);
