import { afterEach, expect, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import {
  type HostileServer,
  openStream,
  startHostileServer,
} from '../testing/mcp/hostile-server.ts';
import { call, McpConnections } from '../testing/mcp-connections.ts';

// A hostile MCP server sends requests without an end, and keeps the HTTP requests of the client open. Each of them
// needs a connection of this process, and a process has few of them.

const connections = new McpConnections();
const servers: HostileServer[] = [];
afterEach(async () => {
  await connections.closeAll();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

type Answer = Parameters<typeof startHostileServer>[1];

async function start(answer: Answer): Promise<HostileServer> {
  const server = await startHostileServer(['tools'], (asked, outgoing) =>
    asked.method === 'tools/list'
      ? '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}'
      : answer(asked, outgoing),
  );
  servers.push(server);
  return server;
}

const connect = ({ url }: HostileServer, options = {}) =>
  connections.connect({ name: 'test', http: { url } }, options);
const ping = (id: number) => `{"jsonrpc":"2.0","id":"p${id}","method":"ping"}`;
/** More than a process with the usual limit of files can answer at the same time. */
const flood = 1_500;

test.for(['the stream of a call', 'the stream of the server'])(
  '18.1403: attack: a server sends pings without an end on %s and accepts no answer',
  async (where) => {
    let held = 0;
    const { promise: end, resolve } = Promise.withResolvers<string>();
    const server = await start(async ({ method }, outgoing) => {
      if (method === '') {
        if (++held === flood) resolve('all answered');
        outgoing.once('close', () => held--);
      } else if (method === (where === 'the stream of a call' ? 'tools/call' : 'GET')) {
        outgoing.once('close', () => resolve('closed'));
        const send = openStream(outgoing);
        for (let count = 0; count < flood; count++) await send(ping(count));
      } else outgoing.writeHead(405).end();
      return undefined;
    });
    const why = await connect(server).then(
      async (connected) => (where === 'the stream of a call' ? call(connected, 'go') : {}),
      ({ message }: Error) => ({ isError: true, text: message }),
    );
    if ('text' in why) expect(why.text).toMatch(/not accept the answers|requests without a pause/);
    expect(await end).toBe('closed');
    expect(held).toBeLessThanOrEqual(33);
    expect(server.methods.filter((method) => method === '').length).toBeLessThan(flood / 2);
  },
);

test('18.1403: attack: a server sends pings without an end and accepts all answers', async () => {
  const { promise: end, resolve } = Promise.withResolvers<string>();
  const server = await start(async ({ method }, outgoing) => {
    if (method === 'tools/call') {
      outgoing.once('close', () => resolve('closed'));
      const send = openStream(outgoing);
      for (let count = 0; count < flood; count++) await send(ping(count));
      resolve('all sent');
    } else outgoing.writeHead(method === 'GET' ? 405 : 202).end();
    return undefined;
  });
  const { isError } = await call(await connect(server), 'go');
  expect(isError).toBe(true);
  expect(await end).toBe('closed');
  expect(server.methods.filter((method) => method === '').length).toBeLessThan(flood / 2);
});

test('18.1403: attack: a process sends pings without an end and reads no answer', async () => {
  const program = `
    process.stdin.on('data', (text) => {
      for (const line of String(text).trim().split('\\n')) {
        const { id, method } = JSON.parse(line);
        const first = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}';
        const list = '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}';
        if (method === 'tools/call') {
          process.stdin.pause();
          const send = () => process.stdout.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\\n'.repeat(1000), send);
          send();
        } else if (id !== undefined)
          process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + (method === 'initialize' ? first : list) + '}\\n');
      }
    });`;
  const stdio = { command: process.execPath, args: ['-e', program], env: childEnv() };
  const connected = await connections.connect({ name: 'test', stdio }, { graceMs: 100 });
  const { isError, text } = await call(connected, 'go');
  expect(isError).toBe(true);
  expect(text).toMatch(/does not accept the answers|requests without a pause/);
});

test('18.1404: attack: a server keeps the HTTP request of each call open after its result', async () => {
  let send: ((json: string) => Promise<void>) | undefined;
  const { promise: isListening, resolve: onListening } = Promise.withResolvers<void>();
  const ended: Promise<unknown>[] = [];
  const server = await start(async ({ method, id }, outgoing) => {
    if (method === 'GET') {
      send = openStream(outgoing);
      await send('{"jsonrpc":"2.0","method":"notifications/message","params":{}}');
      onListening();
    } else {
      ended.push(new Promise((resolve) => outgoing.once('close', resolve)));
      await send?.(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`);
    }
    return undefined;
  });
  const connected = await connect(server);
  await isListening;
  for (let count = 0; count < 3; count++)
    expect(await call(connected, 'go')).toMatchObject({ isError: false });
  expect(ended).toHaveLength(3);
  await Promise.all(ended);
});

test('18.1404: attack: a server keeps the HTTP request of a cancelled call open', async () => {
  const { promise: ended, resolve } = Promise.withResolvers<unknown>();
  const server = await start(({ method }, outgoing) => {
    if (method === 'GET') outgoing.writeHead(405).end();
    else outgoing.once('close', resolve);
    return undefined;
  });
  const connected = await connect(server, { timeoutMs: 100 });
  expect(await call(connected, 'go')).toMatchObject({ isError: true });
  await ended;
});

test('a server can send some requests during a call', async () => {
  let answers = 0;
  let count = 0;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const server = await start(async ({ method, id }, outgoing) => {
    if (method === 'tools/call') {
      const send = openStream(outgoing);
      for (; count < 30; count++) await send(ping(count));
      await done;
      await send(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`);
      outgoing.end();
    } else {
      outgoing.writeHead(method === 'GET' ? 405 : 202).end();
      if (method === '' && ++answers === 30) resolve();
    }
    return undefined;
  });
  expect(await call(await connect(server), 'go')).toMatchObject({ isError: false });
});

test('18.1408: attack: a server never accepts the notification that ends the handshake', async () => {
  const server = await start((_asked, outgoing) => void outgoing.writeHead(405).end());
  let isEnded = false;
  const holding: typeof fetch = (input, init) => {
    if (!String(init?.body).includes('notifications/initialized')) return fetch(input, init);
    return new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => {
        isEnded = true;
        reject(new Error('aborted'));
      });
    });
  };
  const http = { url: server.url, fetch: holding };
  await expect(
    connections.connect({ name: 'test', http }, { connectTimeoutMs: 500, graceMs: 100 }),
  ).rejects.toMatchObject({ code: 'cannot_connect' });
  expect(isEnded).toBe(true);
});
