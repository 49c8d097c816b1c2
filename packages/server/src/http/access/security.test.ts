import { networkInterfaces } from 'node:os';
import { systemClock } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { describe, expect, test } from 'vitest';
import { memoryRows } from '../../rows/memory-rows.ts';
import { rawRequest } from '../../testing/raw-request.ts';
import { startTestServer, type TestServer, testToken } from '../../testing/servers/test-server.ts';
import { createToken, TokenStore } from './token-store.ts';

const operator = testToken('operator');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const rawHead = (path: string, headers: readonly string[]) =>
  [`GET ${path} HTTP/1.1`, ...headers, 'connection: close', '', ''].join('\r\n');

describe('a token', () => {
  test('is not required on loopback if none is configured', async () => {
    await using server = await startTestServer();
    expect((await server.request('/tasks')).status).toBe(200);
  });

  test('is required to listen on other addresses', async () => {
    const refused = startTestServer({ listen: { port: 0, host: '0.0.0.0' } });
    await expect(refused).rejects.toThrow(/Cannot listen on 0\.0\.0\.0 without a token/);
  });

  test.each([
    ['none', {}],
    ['another', bearer('guess')],
    ['half of it', bearer(operator.slice(0, 20))],
  ])('is required if one is configured: %s is rejected', async (_what, headers) => {
    await using server = await startTestServer({ operators: ['operator'] });
    const { status, json, headers: answered } = await server.request('/tasks', { headers });
    expect([status, json.code, json.detail]).toEqual([401, 401, json.message]);
    expect(answered.get('www-authenticate')).toBe('Bearer');
  });

  test.each([
    ['basic', 'Basic b3BlcmF0b3I='],
    ['bare', operator],
    ['long', `Bearer ${'x'.repeat(9000)}`],
  ])('in another format is rejected: %s', async (_what, authorization) => {
    await using server = await startTestServer({ operators: ['operator'] });
    expect((await server.request('/tasks', { headers: { authorization } })).status).toBe(401);
  });

  test.each([
    ...['', ' ', 'x'.repeat(4097), `two words ${operator}`, `line\nbreak${operator}`],
    ...['a', 'swordfish', operator.slice(0, 31), 'ab'.repeat(40), 'x', 'secret', '1234567890'],
    ...['hunter2hunter2hunter2', 'a'.repeat(64), '0123456789abcdef0123456789abcde'],
    'token token token token token token',
  ])('of the operator cannot be %j', (token) => {
    const make = () => new TokenStore(memoryRows(), [token], systemClock);
    expect(make).toThrow(/Cannot use this operator token: .* openssl rand -hex 32/);
  });

  test.each([
    ['openssl rand -hex 16', 'c0ffee15ab5712a06c9b3f2e8d417065'],
    ['openssl rand -hex 32', '4f1d0c3b2a59687e'.repeat(4)],
    ['openssl rand -base64 32', 'q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k='],
    ['uuidgen', '9b2c7d1e-5f3a-4c68-8e0d-1a2b3c4d5e6f'],
    ['createToken()', createToken()],
  ])('of the operator can be made by %s', (_program, token) => {
    expect(new TokenStore(memoryRows(), [token], systemClock).isRequired).toBe(true);
  });

  test('of the operator must exist, unless the server is open on purpose', () => {
    expect(() => new TokenStore(memoryRows(), [], systemClock)).toThrow(/the list is empty/);
    expect(new TokenStore(memoryRows(), 'none', systemClock).isRequired).toBe(false);
  });

  test('that is correct gives access, and health and the document need none', async () => {
    await using server = await startTestServer({ operators: ['first', 'operator'] });
    expect((await server.request('/tasks', { headers: bearer(operator) })).status).toBe(200);
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs'])
      expect((await server.request(path)).status).toBe(200);
  });

  test('that is unknown is ignored if none is required, but not an agent key', async () => {
    await using server = await startTestServer();
    expect((await server.request('/tasks', { headers: bearer('guess') })).status).toBe(200);
    const headers = { 'x-agent-api-key': 'guess' };
    expect((await server.request('/tasks', { headers })).status).toBe(401);
  });

  test('is stored as a hash, returned once, and rejected after it is revoked', async () => {
    const rows = memoryRows();
    await using server = await startTestServer({ rows, operators: ['operator'] });
    const headers = bearer(operator);
    const body = { label: 'for the laptop' };
    const { status, json } = await server.request('/tokens', { headers, body });
    expect(status).toBe(201);
    const stored = JSON.stringify(await rows.list('tokens'));
    expect(stored).not.toContain(json.token);
    expect(stored).not.toContain(operator);
    expect((await server.request('/tokens', { headers })).text).not.toContain(json.token);
    expect((await server.request('/tasks', { headers: bearer(json.token) })).status).toBe(200);
    await server.request(`/tokens/${json.id}`, { method: 'DELETE', headers });
    expect((await server.request('/tasks', { headers: bearer(json.token) })).status).toBe(401);
  });

  test('is in no log line and in no answer', async () => {
    for (const format of ['text', 'json'] as const) {
      const lines: string[] = [];
      const requestLog = { format, write: (line: string) => lines.push(line) };
      await using server = await startTestServer({ operators: ['swordfish'], requestLog });
      const answers = [
        await server.request('/tasks?token=swordfish', { headers: bearer(testToken('swordfish')) }),
        await server.request('/tasks', { headers: bearer('swordfish2') }),
        await server.request('/nowhere?swordfish', { headers: bearer(testToken('swordfish')) }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 401, 404]);
      expect(lines.join('\n') + answers.map(({ text }) => text).join()).not.toContain('swordfish');
    }
  });
});

describe('a token for one agent', () => {
  async function twoAgents(): Promise<{
    server: TestServer;
    tasks: Record<'a' | 'b', string>;
    headers: Record<string, string>;
  }> {
    const server = await startTestServer({ agents: ['a', 'b'], operators: ['operator'] });
    const all = bearer(operator);
    const make = async (name: string) => {
      const body = { method: 'task/create', params: { name: `of ${name}` } };
      const { json } = await server.request(`/agents/name/${name}/rpc`, { headers: all, body });
      return json.result.id as string;
    };
    const tasks = { a: await make('a'), b: await make('b') };
    const body = { agent_id: 'agent-a' };
    const { json } = await server.request('/tokens', { headers: all, body });
    return { server, tasks, headers: { 'x-agent-api-key': json.token } };
  }

  test('gives access to its own tasks and to no task of another agent', async () => {
    const { server, tasks, headers } = await twoAgents();
    await using _ = server;
    const content = { type: 'text', author: 'agent', content: 'x' };
    const asks = (task: string, agent: string) =>
      [
        [`/tasks/${task}`],
        [`/tasks/${task}`, { task_metadata: {} }, 'PUT'],
        [`/tasks/${task}/cancel`, {}],
        [`/tasks/${task}/commands`, { type: 'abort' }],
        [`/tasks/${task}/stream`],
        [`/tasks/${task}/blobs/${'0'.repeat(64)}`],
        [`/messages?task_id=${task}`],
        [`/messages/paginated?task_id=${task}`],
        ['/messages', { task_id: task, content }],
        ['/messages/batch', { task_id: task, contents: [content] }],
        ['/messages/batch', { task_id: task, updates: {} }, 'PUT'],
        [`/events?task_id=${task}&agent_id=${agent}`],
        ['/states', { task_id: task, agent_id: agent, state: {} }],
        [`/states?task_id=${task}`],
        [`/spans?task_id=${task}`],
        ['/spans', { trace_id: 't', name: 'n', start_time: '2026-01-01', task_id: task }],
        [`/tracker?task_id=${task}`],
        [`/agents/${agent}/rpc`, { method: 'message/send', params: { task_id: task, content } }],
      ] as const;
    const statusOf = async ([path, body, method]: readonly [string, object?, string?]) => {
      const init = { headers, ...(body && { body }), ...(method && { method }) };
      return (await server.request(path, init)).status;
    };
    for (const ask of asks(tasks.b, 'agent-b'))
      expect([ask, await statusOf(ask)]).toEqual([ask, 404]);
    const reached = asks(tasks.a, 'agent-a').filter(
      ([path]) => !/commands|stream|blobs/.test(path),
    );
    for (const ask of reached) expect([ask, await statusOf(ask)]).toEqual([ask, 200]);
  });

  test('cannot change a message or a state of another agent by id, or use its task name', async () => {
    const { server, tasks, headers } = await twoAgents();
    await using _ = server;
    const all = bearer(operator);
    const content = { type: 'text', author: 'agent', content: 'x' };
    const of = { task_id: tasks.b };
    const { json: message } = await server.request('/messages', {
      headers: all,
      body: { ...of, content },
    });
    const state = { ...of, agent_id: 'agent-b', state: {} };
    const { json: stored } = await server.request('/states', { headers: all, body: state });
    for (const [method, path, body] of [
      ['GET', `/messages/${message.id}`],
      ['PUT', `/messages/${message.id}`, { ...of, content }],
      ['PUT', `/messages/${message.id}`, { task_id: tasks.a, content }],
      ['PUT', '/messages/batch', { task_id: tasks.a, updates: { [message.id]: content } }],
      ['GET', `/states/${stored.id}`],
      ['PUT', `/states/${stored.id}`, { state: {} }],
      ['DELETE', `/states/${stored.id}`],
    ] as const) {
      const init = { method, headers, ...(body && { body }) };
      expect([path, (await server.request(path, init)).status]).toEqual([path, 404]);
    }
    const body = { method: 'task/create', params: { name: 'of b' } };
    const taken = await server.request('/agents/agent-a/rpc', { headers, body });
    expect(taken.json.error.data.code).toBe('conflict');
    expect(taken.text).not.toContain(tasks.b);
  });

  test('cannot create tokens or register other agents', async () => {
    const { server, headers } = await twoAgents();
    await using _ = server;
    const agent = { name: 'b', description: '', acp_url: 'http://localhost:1', acp_type: 'sync' };
    for (const [path, body] of [
      ['/tokens', {}],
      ['/agents/register', agent],
      ['/agents/register-build', { name: 'b', description: '' }],
    ] as const)
      expect((await server.request(path, { headers, body })).status).toBe(403);
    expect((await server.request('/tokens', { headers })).status).toBe(403);
    expect((await server.request('/agents/agent-a', { method: 'DELETE', headers })).status).toBe(
      403,
    );
  });

  test('for one task gives access to that task, and cannot create tasks', async () => {
    const { server, tasks } = await twoAgents();
    await using _ = server;
    const body = { task_id: tasks.a };
    const { json } = await server.request('/tokens', { headers: bearer(operator), body });
    const headers = bearer(json.token);
    const statusOf = async (path: string, sent?: object) =>
      (await server.request(path, { headers, ...(sent && { body: sent }) })).status;
    expect(await statusOf(`/tasks/${tasks.a}`)).toBe(200);
    expect(await statusOf(`/tasks/${tasks.b}`)).toBe(404);
    expect((await server.request('/tasks', { headers })).json).toMatchObject([{ id: tasks.a }]);
    const create = { method: 'task/create', params: {} };
    expect(await statusOf('/agents/agent-a/rpc', create)).toBe(403);
    expect(await statusOf('/agents/agent-b/rpc', create)).toBe(404);
  });
});

describe('a host', () => {
  const statusFor = async (port: number, host: string) =>
    (await rawRequest(port, rawHead('/tasks', [`host: ${host}`]))).status;

  test('that is not the server’s own is rejected (DNS rebinding)', async () => {
    await using server = await startTestServer({ hosts: ['agents.example'] });
    const { port } = server;
    for (const host of [
      'localhost',
      `localhost:${port}`,
      `127.0.0.1:${port}`,
      '[::1]:80',
      'AGENTS.example',
    ])
      expect([host, await statusFor(port, host)]).toEqual([host, 200]);
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'localhost@evil.example',
    ])
      expect([host, await statusFor(port, host)]).toEqual([host, 421]);
  });

  test('of another network interface is not reachable', async () => {
    await using server = await startTestServer();
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of others)
      await expect(fetch(`http://${address}:${server.port}/healthz`)).rejects.toThrow();
  });
});

describe('a page of another origin', () => {
  const page = 'https://app.example';

  test('is rejected unless it is allowed, also in preflight requests', async () => {
    await using server = await startTestServer();
    for (const origin of [page, 'null', 'http://localhost:1', 'file://']) {
      const { status, headers } = await server.request('/tasks', { headers: { origin } });
      expect([origin, status]).toEqual([origin, 403]);
      expect(headers.get('access-control-allow-origin')).toBeNull();
      const preflight = await server.request('/tasks', { method: 'OPTIONS', headers: { origin } });
      expect(preflight.status).toBe(403);
    }
    const own = await server.request('/tasks', { headers: { origin: server.url } });
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, null]);
  });

  test('can send requests and read answers if it is allowed', async () => {
    await using server = await startTestServer({ origins: [page], operators: ['operator'] });
    const preflight = await server.request('/tasks', {
      method: 'OPTIONS',
      headers: { origin: page, 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      page,
    ]);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    const headers = { origin: page, ...bearer(operator) };
    const { status, headers: answered } = await server.request('/tasks', { headers });
    expect([status, answered.get('access-control-allow-origin')]).toEqual([200, page]);
    expect(answered.get('vary')).toBe('origin');
    expect(answered.get('access-control-allow-credentials')).toBeNull();
    const other = await server.request('/tasks', {
      headers: { ...headers, origin: `${page}.evil` },
    });
    expect(other.status).toBe(403);
    const stranger = await server.request('/tasks', { headers: { origin: page } });
    expect([stranger.status, stranger.headers.get('access-control-allow-origin')]).toEqual([
      401,
      page,
    ]);
  });
});

describe('requests', () => {
  const wrong = { wrongTokensPerSecond: 1, wrongTokenBurst: 2 };
  const limits = { requestsPerSecond: 2, requestBurst: 3, ...wrong };

  test('beyond the rate limit are rejected until time has passed', async () => {
    const clock = new TestClock();
    await using server = await startTestServer({ clock, limits });
    const statuses = async (count: number) => {
      const found: number[] = [];
      for (let n = 0; n < count; n++) found.push((await server.request('/tasks')).status);
      return found;
    };
    expect(await statuses(5)).toEqual([200, 200, 200, 429, 429]);
    expect((await server.request('/tasks')).headers.get('retry-after')).toBe('1');
    clock.jump(1000);
    expect(await statuses(3)).toEqual([200, 200, 429]);
    clock.jump(3_600_000);
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
  });

  test('are counted per token, and failed ones per address', async () => {
    const clock = new TestClock();
    await using server = await startTestServer({ clock, limits, operators: ['one', 'two'] });
    const statusOf = async (token: string) =>
      (await server.request('/tasks', { headers: bearer(token) })).status;
    for (const status of [200, 200, 200, 429])
      expect(await statusOf(testToken('one'))).toBe(status);
    expect(await statusOf(testToken('two'))).toBe(200);
    for (const status of [401, 401, 429]) expect(await statusOf(`guess-${status}`)).toBe(status);
    expect(await statusOf(testToken('two'))).toBe(200);
  });
});
