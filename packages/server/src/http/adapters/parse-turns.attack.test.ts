import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { rawRequest } from '../../testing/raw-request.ts';
import { startTestServer } from '../../testing/servers/test-server.ts';
import { admitConnection, ConnectionLimit, isAdmitted } from '../access/connection-limit.ts';
import { defaultHttpLimits } from '../http-limits.ts';
import { NodeListener } from './node-listener.ts';
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
  const paths: string[] = [];
  /** The number of requests that had arrived when each connection was accepted. */
  const connectedAt: number[] = [];
  const server = createServer((request, response) => {
    turns.push(turn);
    paths.push(request.url ?? '');
    // The server reads bodies only of callers that it has accepted.
    if (request.method === 'POST') admitConnection(request);
    request.resume();
    request.once('end', () => response.end('{}'));
  });
  const next = () => {
    turn++;
    if (server.listening) setImmediate(next);
  };
  new ParseTurns(() => now++).watch(server);
  server.on('connection', () => connectedAt.push(paths.length));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  next();
  onTestFinished(() => void server.close().closeAllConnections());
  return { port: (server.address() as AddressInfo).port, turns, paths, connectedAt };
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

/** Connections without a server. Each parsed byte needs a microsecond. */
class TestConnections {
  readonly #server = new EventEmitter();
  /** The time that the parsed bytes needed, in milliseconds. */
  spentMs = 0;

  constructor() {
    new ConnectionLimit(10_000, systemClock).watch(this.#server as Server);
    new ParseTurns(() => this.spentMs).watch(this.#server as Server);
  }

  /** Opens a connection. `onParse` is called for each slice of its bytes. */
  open(onParse: (bytes: Buffer) => void = () => {}): Duplex {
    const socket = new Duplex({ read: () => {}, write: () => {} });
    socket.on('data', (bytes: Buffer) => {
      this.spentMs += bytes.length / 1000;
      onParse(bytes);
    });
    this.#server.emit('connection', socket);
    onTestFinished(() => void socket.destroy());
    return socket;
  }

  /** Emits a request, as Node does after it has parsed a head. */
  request(socket: Duplex, headers: IncomingHttpHeaders = {}): void {
    const request = Object.assign(new IncomingMessage(socket as Socket), {
      ...{ headers, complete: Object.keys(headers).length === 0 },
    });
    this.#server.emit('request', request, new EventEmitter());
  }
}

test('18.748: attack: thousands of connections send bytes in one turn of the event loop', () => {
  const connections = new TestConnections();
  const sockets = Array.from({ length: 1000 }, () => connections.open());
  for (const socket of sockets) socket.emit('data', Buffer.alloc(5000));
  expect(connections.spentMs).toBeGreaterThanOrEqual(4);
  expect(connections.spentMs).toBeLessThan(10);
});

test('18.804: attack: a usual request on each of thousands of connections needs one turn of the event loop', async () => {
  const connections = new TestConnections();
  const parsed: number[] = [];
  const sockets = Array.from({ length: 200 }, (_, at) => connections.open(() => parsed.push(at)));
  const accepted = connections.open(() => parsed.push(-1));
  admitConnection({ socket: accepted } as unknown as IncomingMessage);
  for (const socket of sockets) socket.emit('data', Buffer.alloc(1000));
  expect(parsed).toEqual([0, 1, 2, 3]);
  // A caller that the server has accepted does not wait for the others.
  accepted.emit('data', Buffer.alloc(1000));
  expect(parsed.splice(4)).toEqual([-1]);
  for (let most = 0; parsed.length < 200; ) {
    const before = parsed.length;
    await nextTurn();
    most = Math.max(most, parsed.length - before);
    expect(most).toBeLessThanOrEqual(6);
  }
  // The connection that was opened last continues first.
  expect(parsed.slice(4)).toEqual(Array.from({ length: 196 }, (_, at) => 199 - at));
});

test('18.805: attack: connections fill the memory with bytes that wait', () => {
  const connections = new TestConnections();
  const bytes = Buffer.alloc(2 ** 16);
  const sockets = Array.from({ length: 2000 }, () => connections.open());
  const grant = { scope: { kind: 'all' }, expiresAt: null } as const;
  for (const socket of sockets) {
    admitConnection({ socket } as unknown as IncomingMessage, { caller: 'token a', grant });
    socket.emit('data', bytes);
  }
  const kept = sockets.filter(({ destroyed }) => !destroyed).length;
  // All of them together can have 96 MiB.
  expect(kept).toBeGreaterThan(1500);
  expect(kept).toBeLessThan(1600);
});

test('18.975: attack: a new client waits for its turn behind the requests of hundreds of connections', async () => {
  const { port, paths, connectedAt } = await startSlowServer();
  const sockets = Array.from({ length: 400 }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(requestOf('/attack', padding)));
    onTestFinished(() => void socket.destroy());
    // Each of them always has a request that waits.
    socket.on('data', () => socket.write(requestOf('/attack', padding)));
    return socket.on('error', () => {});
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await expect.poll(() => paths.length).toBeGreaterThan(800);
  const { status } = await rawRequest(port, requestOf('/honest'), (got) => got.includes('{}'));
  expect(status).toBe(200);
  expect(paths.indexOf('/honest') - (connectedAt.at(-1) ?? 0)).toBeLessThan(50);
});

test('18.976: attack: thousands of connections wait before the connections of honest clients', async () => {
  const connections = new TestConnections();
  const attackers = Array.from({ length: 4000 }, () => connections.open());
  // Each of them has sent a head before. All of them send the next one at the same time.
  for (const socket of attackers) {
    connections.request(socket);
    socket.emit('data', Buffer.alloc(1000));
  }
  const open = () => attackers.filter(({ destroyed }) => !destroyed).length;
  expect(open()).toBeLessThanOrEqual(2010);
  const parsed: string[] = [];
  const honest = connections.open(() => parsed.push('new'));
  const used = connections.open(() => parsed.push('used'));
  connections.request(used);
  honest.emit('data', Buffer.alloc(1000));
  const spentMs = connections.spentMs;
  await nextTurn();
  expect(parsed).toEqual(['new']);
  expect(connections.spentMs - spentMs).toBeLessThanOrEqual(6);
  // A used connection that waits gets its turn although new connections arrive in each turn.
  const [waiting] = attackers.filter(({ destroyed }) => !destroyed).slice(-1);
  waiting?.on('data', () => parsed.push('waiting'));
  for (let turns = 0; !parsed.includes('waiting') && turns < 4000; turns++) {
    const arriving = Array.from({ length: 4 }, () => connections.open());
    for (const socket of arriving) socket.emit('data', Buffer.alloc(1000));
    await nextTurn();
    for (const socket of arriving) socket.destroy();
  }
  expect(parsed).toContain('waiting');
});

test('18.977: attack: a new connection sends a head in many pieces, and comes first each time', async () => {
  const connections = new TestConnections();
  const honest = connections.open();
  const attackers = Array.from({ length: 100 }, () => connections.open());
  let isParsed = false;
  honest.on('data', () => {
    isParsed = true;
  });
  // Each turn, each attacker sends one byte of its head. The honest client opened its connection before them.
  let turns = 0;
  for (; !isParsed && turns < 1000; turns++) {
    for (const socket of attackers) socket.emit('data', Buffer.alloc(1));
    if (turns === 0) honest.emit('data', Buffer.alloc(1000));
    await nextTurn();
  }
  expect(isParsed).toBe(true);
  expect(turns).toBeLessThan(200);
});

test('18.989: attack: requests without a token delay the next accepted connection', async () => {
  const connections = new TestConnections();
  // All of them are used connections.
  const sockets = Array.from({ length: 200 }, () => connections.open());
  for (const socket of sockets) {
    connections.request(socket);
    socket.emit('data', Buffer.alloc(1000));
  }
  const turn = async () => {
    const before = connections.spentMs;
    await nextTurn();
    return connections.spentMs - before;
  };
  await turn();
  expect(await turn()).toBeGreaterThanOrEqual(4);
  // Node accepts one connection in each turn, so the turns are short while connections arrive.
  for (let turns = 0; turns < 20; turns++) {
    connections.open();
    expect(await turn()).toBeLessThanOrEqual(2);
  }
});

test('18.1133: attack: the bodies of an accepted caller delay the next accepted connection', async () => {
  const connections = new TestConnections();
  const sockets = Array.from({ length: 200 }, () => connections.open());
  for (const socket of sockets) {
    admitConnection({ socket } as unknown as IncomingMessage);
    socket.emit('data', Buffer.alloc(1000));
  }
  const turn = async () => {
    const before = connections.spentMs;
    await nextTurn();
    return connections.spentMs - before;
  };
  await turn();
  expect(await turn()).toBeGreaterThanOrEqual(10);
  let spentMs = 0;
  for (let turns = 0; turns < 20; turns++) {
    connections.open();
    spentMs += await turn();
  }
  // The accepted callers continue too.
  expect(spentMs).toBeGreaterThanOrEqual(5);
  expect(spentMs).toBeLessThanOrEqual(15);
});

test('18.992: attack: a newer connection in each turn keeps an earlier one waiting', async () => {
  const connections = new TestConnections();
  for (let count = 0; count < 20; count++) connections.open().emit('data', Buffer.alloc(3000));
  let isParsed = false;
  const honest = connections.open(() => {
    isParsed = true;
  });
  honest.emit('data', Buffer.alloc(1000));
  let turns = 0;
  for (; !isParsed && turns < 100; turns++) {
    // The head of each newer connection needs much time, and its bytes arrive in several pieces.
    for (let count = 0; count < 2; count++) {
      const newer = connections.open();
      newer.emit('data', Buffer.alloc(3000));
      newer.emit('data', Buffer.alloc(3000));
    }
    await nextTurn();
  }
  expect(isParsed).toBe(true);
  expect(turns).toBeLessThan(5);
});

test('18.991: attack: an accepted caller waits for thousands of connections of a different caller', async () => {
  const connections = new TestConnections();
  const parsed: string[] = [];
  const openFor = (taskId: string) => {
    const socket = connections.open(() => parsed.push(taskId));
    const grant = { scope: { kind: 'task', taskId }, expiresAt: null } as const;
    const source = { socket } as unknown as IncomingMessage;
    admitConnection(source, { caller: `token ${taskId}`, grant });
    return socket;
  };
  const many = Array.from({ length: 1000 }, () => openFor('attacker'));
  for (const socket of many) socket.emit('data', Buffer.alloc(1000));
  openFor('honest').emit('data', Buffer.alloc(1000));
  const before = parsed.length;
  await nextTurn();
  await nextTurn();
  expect(parsed.slice(before, before + 3)).toContain('honest');
  for (let turns = 0; parsed.length < 1001 && turns < 1000; turns++) await nextTurn();
  expect(parsed).toHaveLength(1001);
});

test('18.978: a connection does not wait for others after its caller was accepted', async () => {
  const connections = new TestConnections();
  const parsed: number[] = [];
  const sockets = Array.from({ length: 100 }, (_, at) => connections.open(() => parsed.push(at)));
  for (const socket of sockets) socket.emit('data', Buffer.alloc(1000));
  const [, , , , fifth] = sockets;
  admitConnection({ socket: fifth } as unknown as IncomingMessage);
  parsed.length = 0;
  await nextTurn();
  expect(parsed).toContain(4);
});

test('18.741: a body whose bytes wait for their turn arrives in full', async () => {
  const { port, turns } = await startSlowServer();
  const body = `3e8\r\n${'b'.repeat(1000)}\r\n`.repeat(300);
  const head = requestOf('/', 'transfer-encoding: chunked\r\n').replace('GET', 'POST');
  const { status } = await rawRequest(port, `${head}${body}0\r\n\r\n`, (got) => got.includes('{}'));
  expect(status).toBe(200);
  expect(turns).toHaveLength(1);
});

const chunkedHead = requestOf('/tasks', 'transfer-encoding: chunked\r\n').replace('GET', 'POST');
const smallChunks = '1\r\na\r\n'.repeat(9000);

/** Starts a listener that answers a request after many turns of the event loop. */
async function startLateListener(beforeAnswer: (request: IncomingMessage) => void) {
  /** The bytes of the bodies that the listener had parsed before it answered. */
  const parsed: number[] = [];
  const listener = new NodeListener({
    ...{ limits: defaultHttpLimits, clock: systemClock, closing: new AbortController().signal },
    onRequest: async (request, response) => {
      for (let turns = 0; turns < 200; turns++) await nextTurn();
      parsed.push(request.readableLength);
      beforeAnswer(request);
      if (request.socket.destroyed) return;
      let length = 0;
      request.on('data', (bytes: Buffer) => {
        length += bytes.length;
      });
      if (isAdmitted(request.socket)) await once(request, 'end');
      response.end(`{"length":${length}}`);
    },
  });
  const port = await listener.listen(0, '127.0.0.1');
  onTestFinished(async () => {
    listener.closeAllConnections();
    await listener.close();
  });
  return { port, parsed };
}

test('18.1131: attack: the body of a request without a token is parsed before the server has accepted the caller', async () => {
  const { port, parsed } = await startLateListener(() => {});
  // The body never ends. The server closes the connection after its answer, and parses nothing of the body.
  const { text } = await rawRequest(port, `${chunkedHead}${smallChunks}`);
  expect(text).toMatch(/connection: close/i);
  expect(text).toContain('{"length":0}');
  expect(parsed).toEqual([0]);
});

test('18.1131: attack: the end of a head arrives in two pieces, and a body follows it', () => {
  const connections = new TestConnections();
  for (let cut = 1; cut < 4; cut++) {
    const slices: number[] = [];
    const socket = connections.open((bytes) => {
      slices.push(bytes.length);
      if (slices.length === 2) connections.request(socket, { 'transfer-encoding': 'chunked' });
    });
    socket.emit('data', Buffer.from(chunkedHead.slice(0, -cut)));
    socket.emit('data', Buffer.from(`${chunkedHead.slice(-cut)}${smallChunks}`));
    expect(slices).toEqual([chunkedHead.length - cut, cut]);
  }
});

test('18.1131: attack: the server closes the connection of a client without a token whose body goes on', async () => {
  await using server = await startTestServer({ operators: ['a'] });
  const { text, status } = await rawRequest(server.port, `${chunkedHead}${smallChunks}`);
  expect(status).toBe(401);
  expect(text).toMatch(/connection: close/i);
});

test('18.1131: a body that waits for the access check arrives in full, and the connection stays open', async () => {
  const { port, parsed } = await startLateListener((request) => admitConnection(request));
  const all = `${chunkedHead}${smallChunks}0\r\n\r\n`;
  const isEnough = (text: string) => text.split('{"length":9000}').length === 3;
  const { text } = await rawRequest(port, `${all}${all}`, isEnough);
  expect(isEnough(text)).toBe(true);
  expect(text).not.toMatch(/connection: close/i);
  expect(parsed[0]).toBe(0);
});

test('18.1131: a connection stays open after a refused request with a body of a known length', async () => {
  await using server = await startTestServer({ operators: ['a'] });
  const body = 'a'.repeat(5000);
  const post = requestOf('/tasks', `content-length: ${body.length}\r\n`).replace('GET', 'POST');
  const isEnough = (got: string) => answersIn(got) === 1;
  const { text } = await rawRequest(
    server.port,
    `${post}${body}${requestOf('/healthz')}`,
    isEnough,
  );
  expect(text).toContain('HTTP/1.1 401');
  expect(answersIn(text)).toBe(1);
});

test('18.1132: attack: a connection without a token sends many requests in one piece', async () => {
  const connections = new TestConnections();
  const head = requestOf('/tasks');
  let heads = 0;
  const socket = connections.open(() => {
    heads++;
    connections.request(socket);
  });
  socket.emit('data', Buffer.from(head.repeat(1000)));
  expect(heads).toBe(1);
  for (let turns = 0; turns < 1000 && !socket.destroyed; turns++) {
    const before = heads;
    await nextTurn();
    expect(heads - before).toBeLessThanOrEqual(1);
  }
  expect(socket.destroyed).toBe(true);
  expect(heads).toBeLessThanOrEqual(100);
});
