import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { call, McpConnections, toolOf } from '../testing/mcp-connections.ts';
import { startHttpServer, type TestHttpServer } from '../testing/mcp-http-server.ts';
import { testTools } from '../testing/mcp-test-tools.ts';
import type { McpOptions } from './index.ts';
import { packageVersion } from './server/package-version.ts';

// These tests use a server on a local port.

const token = 'hush-hush-hush';
const connections = new McpConnections();
const servers: TestHttpServer[] = [];
afterEach(async () => {
  await connections.closeAll();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

type Revision = Parameters<typeof startHttpServer>[0];

async function start(revision: Revision, note?: (word: string) => void): Promise<TestHttpServer> {
  const server = await startHttpServer(revision, note === undefined ? {} : { note });
  servers.push(server);
  return server;
}

const connect = ({ url }: { readonly url: string }, options?: McpOptions) =>
  connections.connect(
    { name: 'test', http: { url, headers: { authorization: `Bearer ${token}` } } },
    options,
  );

/** Returns the MCP method of a request. */
async function methodOf(request: Request): Promise<unknown> {
  return request.method === 'POST'
    ? ((await request.clone().json()) as { method?: unknown }).method
    : undefined;
}

describe.each<Revision>(['sessions', 'modern'])('over HTTP, %s', (revision) => {
  test('tools are listed and called, with headers on each request', async () => {
    const http = await start(revision);
    const server = await connect(http);
    expect(server.tools).toHaveLength(Object.keys(testTools).length);
    expect(server.instructions).toBe('Be gentle.');
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
    expect(await call(server, 'add', { a: 1, b: 2 })).toMatchObject({ value: { sum: 3 } });
    expect(await call(server, 'fail')).toMatchObject({ text: 'no such row', isError: true });
    expect(await call(server, 'everything')).toMatchObject({ attachments: { length: 3 } });
    await server.close();
    const sent = new Set(http.requests.map(({ headers }) => headers.get('authorization')));
    expect([...sent]).toEqual([`Bearer ${token}`]);
  });

  test('progress is reported', async () => {
    const server = await connect(await start(revision));
    expect(await call(server, 'count', { to: 2 })).toMatchObject({
      text: 'counted',
      updates: ['step 1 (1/2)\n', 'step 2 (2/2)\n'],
    });
  });

  test('an abort ends a call immediately and cancels it at the server', async () => {
    const { promise: noted, resolve: note } = Promise.withResolvers<string>();
    const server = await connect(await start(revision, note));
    const abort = new AbortController();
    const { thrown } = await call(
      server,
      'wait',
      {},
      {
        signal: abort.signal,
        update: () => abort.abort(new Error('stopped')),
      },
    );
    expect(thrown).toBe(abort.signal.reason);
    expect(await noted).toBe('cancelled');
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });

  test('a timeout ends a call without progress', async () => {
    const { promise: noted, resolve: note } = Promise.withResolvers<string>();
    const server = await connect(await start(revision, note), { timeoutMs: 50 });
    expect(await call(server, 'wait')).toMatchObject({
      isError: true,
      text: expect.stringContaining('gave no result in time'),
    });
    expect(await noted).toBe('cancelled');
  });

  test('a change of the tool list is received', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    const http = await start(revision);
    const server = await connect(http, {
      onChange: (tools) => resolve(tools.map(({ name }) => name)),
    });
    // The stream for notifications opens a little later than the session.
    const listens = () => http.requests.some(({ method }) => method === 'GET');
    if (revision === 'sessions') await expect.poll(listens).toBe(true);
    await call(server, 'change');
    expect(await promise).toContain('test_new');
    expect(toolOf(server, 'new')).toBeDefined();
  });

  test.each([
    ['that was silent', 'mute', false],
    ['that had begun to answer', 'wait', true],
  ])(
    'a connection that breaks in a call %s is an error, and the next call connects again',
    async (_, tool, hasBegun) => {
      const http = await start(revision);
      const server = await connect(http);
      const before = http.requests.length;
      const running = call(server, tool, {}, hasBegun ? { update: () => http.cut() } : {});
      if (!hasBegun) {
        await expect.poll(() => http.requests.length).toBeGreaterThan(before);
        http.cut();
      }
      expect(await running).toMatchObject({
        isError: true,
        text: expect.stringContaining(
          'the connection broke, and it is unknown whether it took effect',
        ),
      });
      expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
    },
  );

  test('each call to a stopped server reports which server it is', async () => {
    const http = await start(revision);
    const server = await connect(http);
    await http.close();
    // The first call may use an old connection that is now closed.
    await call(server, 'echo');
    for (let count = 0; count < 2; count++) {
      expect(await call(server, 'echo')).toMatchObject({
        isError: true,
        text: expect.stringMatching(
          /^echo was not called\. Cannot connect to MCP server test: .*ECONNREFUSED/,
        ),
      });
    }
  });

  test('a response that is too long is not read', async () => {
    const server = await connect(await start(revision), { maxMessageBytes: 100_000 });
    expect(await call(server, 'huge', { length: 90_000 })).toMatchObject({ isError: false });
    const { isError, text } = await call(server, 'huge', { length: 100_000 });
    expect(isError).toBe(true);
    expect(text).toContain('more than 100000 bytes (maxMessageBytes)');
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });

  test('a refusal that contains a secret is redacted', async () => {
    const http = await start(revision);
    const server = await connect(http);
    http.answerWith(async (request) => {
      const body = `no entry for ${request.headers.get('authorization')} (${token})`;
      return new Response(body, { status: 401 });
    });
    const { text, isError } = await call(server, 'echo');
    expect(isError).toBe(true);
    expect(text).toContain('HTTP 401');
    expect(text).toContain('no entry for [secret] ([secret])');
    const thrown: Error = await connect(http).then(
      () => expect.unreachable(),
      (error) => error,
    );
    expect(thrown.message).toMatch(/HTTP 401.*Check the headers/);
    for (const told of [
      thrown.message,
      thrown.stack,
      JSON.stringify(thrown),
      String(thrown.cause),
    ]) {
      expect(told).not.toContain(token);
    }
  });

  test('an error response does not end the other calls', async () => {
    const http = await start(revision);
    const server = await connect(http);
    const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
    const abort = new AbortController();
    const running = call(server, 'wait', {}, { signal: abort.signal, update: () => resolve() });
    await isWaiting;
    http.answerWith(async () => new Response('overloaded', { status: 503 }));
    expect(await call(server, 'echo')).toMatchObject({
      isError: true,
      text: expect.stringContaining('HTTP 503 Service Unavailable: overloaded'),
    });
    http.answerWith(undefined);
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
    abort.abort('enough');
    expect((await running).thrown).toBe('enough');
  });
});

test('an error of a tool that contains a secret is redacted', async () => {
  const server = await connect(await start('sessions'));
  expect(await call(server, 'throw', { words: `not ${token}` })).toMatchObject({
    text: 'throw of MCP server test failed: MCP error -32603: not [secret]',
  });
});

test('close also cancels calls on retired connections', async () => {
  const http = await start('sessions');
  const server = await connect(http);
  const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
  const running = call(server, 'wait', {}, { update: () => resolve() });
  await isWaiting;
  http.answerWith(async () => new Response('overloaded', { status: 503 }));
  await call(server, 'echo');
  http.answerWith(undefined);
  await call(server, 'echo');
  await server.close();
  expect((await running).text).toContain('was cancelled because its server was closed');
});

test('a tool list that cannot be refreshed is reported, and the old list stays', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { url } = await start('modern');
  let lists = 0;
  const failing: typeof fetch = async (to, init) => {
    if ((await methodOf(new Request(to, init))) !== 'tools/list' || lists++ === 0)
      return fetch(to, init);
    return new Response(`not for ${token}`, { status: 400 });
  };
  const headers = { 'x-key': token };
  const server = await connections.connect(
    { name: 'test', http: { url, headers, fetch: failing } },
    {
      onProblem: (problem) => {
        resolve(problem);
        throw new Error('of the one who listens');
      },
    },
  );
  const before = server.tools;
  await call(server, 'change');
  expect(await promise).toBe('MCP server test: HTTP 400: not for [secret]');
  expect(server.tools).toBe(before);
  expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
});

describe('a session', () => {
  test('that the server dropped is renewed during the call', async () => {
    const http = await start('sessions');
    const server = await connect(http);
    http.forget();
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  });

  test('that is dropped every time is renewed once per call', async () => {
    const http = await start('sessions');
    const server = await connect(http);
    let calls = 0;
    http.answerWith(async (request) => {
      if ((await methodOf(request)) === 'tools/call') calls++;
      return new Response('Session not found', { status: 404 });
    });
    expect(await call(server, 'echo')).toMatchObject({
      isError: true,
      text: expect.stringContaining('HTTP 404'),
    });
    expect(calls).toBe(1);
  });

  test('is ended by close()', async () => {
    const http = await start('sessions');
    const server = await connect(http);
    await server.close();
    expect(http.requests.at(-1)?.method).toBe('DELETE');
  });

  test('that cannot be ended does not delay close', async () => {
    const http = await start('sessions');
    const server = await connect(http, { graceMs: 20 });
    http.answerWith(() => new Promise(() => {}));
    await server.close();
    await expect.poll(() => http.requests.map(({ method }) => method)).toContain('DELETE');
  });
});

describe('the request for the protocol revision', () => {
  test('may fail at an old server', async () => {
    const http = await start('sessions');
    const proxied: unknown[] = [];
    const proxy: typeof fetch = async (url, init) => {
      const method = await methodOf(new Request(url, init));
      proxied.push(method);
      if (method === 'server/discover') return new Response('what?', { status: 500 });
      return fetch(url, init);
    };
    const server = await connections.connect({
      name: 'test',
      http: { url: http.url, fetch: proxy },
    });
    expect(await call(server, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
    expect(proxied.slice(0, 2)).toEqual(['server/discover', 'initialize']);
  });

  test('can be switched off', async () => {
    const methods: unknown[] = [];
    const spy: typeof fetch = async (url, init) => {
      methods.push(await methodOf(new Request(url, init)));
      return fetch(url, init);
    };
    const { url } = await start('sessions');
    await connections.connect({ name: 'test', http: { url, fetch: spy } }, { negotiate: false });
    expect(methods[0]).toBe('initialize');
  });
});

describe('the version of the client', () => {
  test('is sent to the server', async () => {
    const bodies: string[] = [];
    const spy: typeof fetch = async (url, init) => {
      bodies.push(await new Request(url, init).clone().text());
      return fetch(url, init);
    };
    const { url } = await start('sessions');
    await connections.connect({ name: 'test', http: { url, fetch: spy } }, { negotiate: false });
    const { params } = JSON.parse(bodies[0] ?? '{}');
    expect(params.clientInfo).toEqual({ name: 'millrace', version: packageVersion() });
  });

  test('is that of the package', async () => {
    const manifest = new URL('../../package.json', import.meta.url);
    const { version } = JSON.parse(await readFile(manifest, 'utf8'));
    expect(packageVersion()).toBe(version);
    const folder = await mkdtemp(join(tmpdir(), 'millrace-version-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const versionIn = async (name: string) => {
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version: '1.2.3' }));
      return packageVersion(pathToFileURL(join(folder, 'dist/mcp/server/')));
    };
    expect(await versionIn('@millrace/tools')).toBe('1.2.3');
    expect(await versionIn('@millrace/cli')).toBe('1.2.3');
    expect(await versionIn('my-app')).toBe('unknown');
  });
});

test('a server that asks for input during a call gives an error', async () => {
  const http = await start('modern');
  const fake: typeof fetch = async (url, init) => {
    const request = new Request(url, init);
    if ((await methodOf(request)) !== 'tools/call') return fetch(url, init);
    const { id } = (await request.json()) as { id: number };
    const result = { resultType: 'input_required', requestState: 'x', inputRequests: {} };
    return Response.json({ jsonrpc: '2.0', id, result });
  };
  const server = await connections.connect({ name: 'test', http: { url: http.url, fetch: fake } });
  expect(await call(server, 'echo')).toMatchObject({
    isError: true,
    text: expect.stringContaining('asks for more input during the call'),
  });
});

test('a server with another protocol is refused', async () => {
  const http = await start('sessions');
  http.answerWith(async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }));
  await expect(connect(http)).rejects.toMatchObject({
    code: 'cannot_connect',
    message: expect.stringContaining('Unexpected content type: text/html'),
  });
});

test('connecting to a server that does not answer times out', async () => {
  const http = await start('sessions');
  http.answerWith(() => new Promise(() => {}));
  await expect(connect(http, { connectTimeoutMs: 50, graceMs: 20 })).rejects.toMatchObject({
    message: expect.stringContaining('within 50 ms (connectTimeoutMs)'),
  });
});
