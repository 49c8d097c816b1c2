import { afterEach, expect, test } from 'vitest';
import { McpConnections } from '../testing/mcp-connections.ts';
import { startHttpServer, type TestHttpServer } from '../testing/mcp-http-server.ts';

// A hostile MCP server redirects requests. The headers of the user contain a key, and the new address can be
// a service that only this machine can reach.

const connections = new McpConnections();
const servers: TestHttpServer[] = [];
afterEach(async () => {
  await connections.closeAll();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(): Promise<TestHttpServer> {
  const server = await startHttpServer('sessions');
  servers.push(server);
  return server;
}

test.for([301, 302, 303, 307, 308])(
  'attack: a redirect with %i to another server gets no request',
  async (status) => {
    const [given, other] = [await start(), await start()];
    given.answerWith(async () => new Response(null, { status, headers: { location: other.url } }));
    const headers = { 'x-api-key': 'canary-key' };
    const http = { url: given.url, headers };
    await expect(connections.connect({ name: 'given', http })).rejects.toThrow(/HTTP 30\d/);
    expect(other.requests).toEqual([]);
  },
);

test('a redirect to another path of the server is followed', async () => {
  const server = await start();
  const url = new URL(server.url);
  const before = `${url.origin}/old`;
  const { fetch } = globalThis;
  let count = 0;
  const redirecting: typeof fetch = async (at, init) => {
    if (!String(at).endsWith('/old')) return fetch(at, init);
    count++;
    return new Response(null, { status: 307, headers: { location: '/mcp' } });
  };
  const http = { url: before, headers: { 'x-api-key': 'key' }, fetch: redirecting };
  const { tools } = await connections.connect({ name: 'given', http });
  expect(tools.length).toBeGreaterThan(0);
  expect(count).toBeGreaterThan(0);
  expect(server.requests[0]?.headers.get('x-api-key')).toBe('key');
});

test('attack: redirects without an end are an error', async () => {
  const server = await start();
  server.answerWith(async () => new Response(null, { status: 307, headers: { location: '/mcp' } }));
  const http = { url: server.url };
  await expect(connections.connect({ name: 'given', http })).rejects.toThrow(/HTTP 30\d/);
  expect(server.requests.length).toBeLessThan(50);
});

/** A body without an end. */
function endlessBody() {
  const sent = { chunks: 0 };
  const body = new ReadableStream({
    pull: (controller) => {
      // A client without a limit must not fill the memory of the test.
      if (++sent.chunks > 1_000) controller.close();
      else controller.enqueue(new Uint8Array(1_000));
    },
  });
  return { body, sent };
}

test.for([
  [302, 'http://other.example/mcp'],
  [307, '/next'],
  [300, undefined],
] as const)(
  '18.1530: attack: the answer with status %i has a body without an end',
  async ([status, location]) => {
    const sent: { chunks: number }[] = [];
    const fetch = async () => {
      const { body, sent: count } = endlessBody();
      sent.push(count);
      return new Response(body, { status, headers: location === undefined ? {} : { location } });
    };
    const http = { url: 'http://localhost/mcp', fetch };
    const connecting = connections.connect({ name: 'given', http }, { maxMessageBytes: 10_000 });
    await expect(connecting).rejects.toThrow();
    expect(sent.length).toBeGreaterThan(0);
    for (const { chunks } of sent) expect(chunks).toBeLessThan(20);
  },
);
