import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createServer, type ServerOptions } from '../../create-server.ts';
import {
  type AgentData,
  asUser,
  guardedByStatus,
  type Json,
  ScopeServer,
  userOfCookie,
} from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// An application mounts the server and authorizes its users with `authorize`. One user attacks the other
// users and the operator.

describe('a user', () => {
  const [ann, bob] = [asUser('ann'), asUser('bob')];
  let server: ScopeServer;
  let annes: AgentData;
  beforeAll(async () => {
    server = await ScopeServer.start({ authorize: userOfCookie });
    annes = await server.createData('own', ann);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const viewOfAnne = async () => {
    const { task_id, state_id, span_id } = annes;
    const paths = [`/tasks/${task_id}`, `/messages?task_id=${task_id}`, `/tracker/${task_id}`];
    const all = [...paths, `/states/${state_id}`, `/spans/${span_id}`];
    return Promise.all(all.map((path) => server.asOperator('GET', path)));
  };

  test.each(guardedByStatus.map((operation) => [operation.name, operation] as const))(
    'attack: neither reads nor changes the work of another user: %s',
    async (_name, operation) => {
      const before = await viewOfAnne();
      const { status, text } = await server.send(bob, operation, annes);
      expect(text).not.toContain('classified');
      expect(text).not.toContain('agent_api_key');
      if (operation.method !== 'GET') expect([403, 404, 409]).toContain(status);
      expect(await viewOfAnne()).toEqual(before);
    },
  );

  test('reads and changes its own work, and an operator sees all', async () => {
    const { task_id } = annes;
    const listOf = async (who: string): Promise<Json> =>
      JSON.parse((await server.ask(who, 'GET', '/tasks')).text);
    expect((await listOf(ann)).map(({ id }: Json) => id)).toEqual([task_id]);
    expect(await listOf(bob)).toEqual([]);
    expect((await listOf(testToken('operator'))).map(({ id }: Json) => id)).toEqual([task_id]);
    expect((await server.ask(ann, 'GET', `/messages?task_id=${task_id}`)).text).toContain(
      'classified',
    );
    // A change of the task keeps its owner.
    const changed = await server.ask(ann, 'PUT', `/tasks/${task_id}`, { task_metadata: { a: 1 } });
    expect(changed.status).toBe(200);
    expect(changed.text).not.toContain('owner');
    expect((await server.ask(ann, 'GET', `/tasks/${task_id}`)).status).toBe(200);
    expect((await server.ask(bob, 'GET', `/tasks/${task_id}`)).status).toBe(404);
    expect((await server.ask(bob, 'GET', '/agents')).text).toContain('"own"');
  });

  test.each([
    ['POST', '/tokens', {}],
    ['POST', '/tokens', { agent_name: 'own' }],
    ['GET', '/tokens', undefined],
    ['DELETE', `/tokens/${'e'.repeat(64)}`, undefined],
    ['POST', '/agents/register-build', { name: 'new', description: '' }],
    [
      ...['POST', '/agents/register'],
      { name: 'new', description: '', acp_url: 'http://127.0.0.1:1', acp_type: 'sync' },
    ],
    ['DELETE', '/agents/name/own', undefined],
  ] as const)('attack: has no rights of an operator: %s %s', async (method, path, body) => {
    const { status, text } = await server.ask(bob, String(method), String(path), body);
    expect([status, text.includes('mr_')]).toEqual([403, false]);
  });

  test('attack: gets no task of another user by an idempotency key or a name', async () => {
    const create = async (user: string, params: object, key: string) => {
      const response = await fetch(new URL('/agents/name/own/rpc', server.url), {
        ...{ method: 'POST', body: JSON.stringify({ method: 'task/create', params }) },
        headers: { cookie: user, 'content-type': 'application/json', 'idempotency-key': key },
      });
      return (await response.json()) as Json;
    };
    const { result: first } = await create(ann, {}, 'k');
    const { result: second } = await create(bob, {}, 'k');
    expect(second.id).not.toBe(first.id);
    expect((await create(ann, {}, 'k')).result.id).toBe(first.id);
    expect((await create(bob, { name: annes.task_name }, 'k2')).result).toBeNull();
  });
});

test('attack: a fork and a chat of a user are not those of another user', async () => {
  const log = memoryLog();
  const provider = scriptedProvider(['classified', 'classified']);
  const agent = createAgent({ log, provider });
  const tokens = [testToken('operator')];
  const agents = [{ type: 'loop', name: 'loop', agent }] as const;
  const server = createServer({ log, tokens, agents, authorize: userOfCookie });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const send = async (user: string, method: string, path: string, body?: object) => {
    const headers = { cookie: asUser(user), 'content-type': 'application/json' };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await server.fetch(new Request(`http://localhost${path}`, init));
    return { status: response.status, text: await response.text() };
  };
  const chat = { id: 'x', messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };
  const path = '/agents/name/loop/chat';
  const answer = (await send('ann', 'POST', path, chat)).text;
  const pieces = [...answer.matchAll(/"delta":"(\w*)"/g)].map(([, piece]) => piece);
  expect(pieces.join('')).toBe('classified');
  const { id } = JSON.parse((await send('ann', 'GET', '/tasks/name/x')).text) as Json;
  const fork = await send('ann', 'POST', `/tasks/${id}/fork`, {});
  const { id: copy } = JSON.parse(fork.text) as Json;
  expect((await send('ann', 'GET', `/tasks/${copy}`)).status).toBe(200);
  for (const [method, at, body] of [
    ['GET', `/tasks/${copy}`],
    ['GET', `/tasks/${copy}/records`],
    ['GET', `/tasks/${copy}/stream?view=events&from=0`],
    ['POST', `/tasks/${copy}/commands`, { type: 'abort' }],
    ['POST', `/tasks/${id}/fork`, {}],
    ['POST', path, chat],
  ] as const) {
    const { status, text } = await send('bob', method, at, body);
    const isLeaked = /text-delta|append_text|classif/.test(text);
    expect([at, [404, 409].includes(status), isLeaked]).toEqual([at, true, false]);
  }
  expect((await send('bob', 'GET', `${path}/x`)).text).toBe('{"messages":[]}');
  expect((await send('bob', 'GET', `${path}/x/stream`)).status).toBe(204);
});

describe('authorize', () => {
  async function serve(authorize: ServerOptions['authorize'], path = '/tasks', method = 'GET') {
    const server = createServer({ tokens: [testToken('operator')], authorize });
    onTestFinished(() => server.close());
    const headers = { 'content-type': 'application/json' };
    const body = method === 'GET' ? null : '{}';
    const request = new Request(`http://localhost${path}`, { method, headers, body });
    return (await server.fetch(request)).status;
  }

  test.each([false, null, undefined, 0, ''])(
    'attack: that returns %j lets nobody in',
    async (no) => {
      expect(await serve(() => no as never)).toBe(401);
      expect(await serve(async () => no as never)).toBe(401);
    },
  );

  test.each([
    true,
    'ann',
    {},
    { user: '' },
    { user: 7 },
    { user: 'ann', isReadonly: true },
    { user: 'ann', isReadOnly: 'no' },
    { user: 'ann', scope: 'read' },
    { user: 'ann', scope: { kind: 'everything' } },
    { user: 'ann', scope: { kind: 'agent', agentName: 'own' } },
    { user: 'ann', scope: { kind: 'task' } },
  ])('attack: that returns %j is a fault of the application, and lets nobody in', async (bad) => {
    expect(await serve(() => bad as never)).toBe(500);
  });

  test.each(['/%74okens', '/tok%65ns', '/%74%6F%6b%65%6e%73', '/%74okens?x=/tasks'])(
    'attack: gets the path that the server uses, however the client writes it: %s',
    async (path) => {
      const paths: string[] = [];
      const authorize: ServerOptions['authorize'] = ({ path: asked }) => {
        paths.push(asked);
        return asked === '/tokens' ? undefined : { user: 'ann', scope: { kind: 'all' } };
      };
      expect(await serve(authorize, path, 'POST')).toBe(401);
      expect(paths).toEqual(['/tokens']);
    },
  );

  test('gets names in the path in one encoding', async () => {
    const paths: string[] = [];
    const authorize: ServerOptions['authorize'] = ({ path }) => void paths.push(path);
    for (const path of ['/tasks/name/a%2Fb%20c', '/tasks/name/a%2fb%20%63', '/tasks/%zz'])
      await serve(authorize, path);
    expect(paths).toEqual(['/tasks/name/a%2Fb%20c', '/tasks/name/a%2Fb%20c', '/tasks/%zz']);
  });
});

describe('a server without tokens behind a proxy on its machine', () => {
  test.each([
    [{ 'x-forwarded-for': '203.0.113.7' }, 401],
    [{ 'x-forwarded-for': '127.0.0.1, 203.0.113.7' }, 401],
    [{ 'x-forwarded-for': 'unknown' }, 401],
    [{ 'x-real-ip': '203.0.113.7' }, 401],
    [{ forwarded: 'for=203.0.113.7;proto=https' }, 401],
    [{ forwarded: 'for="[2001:db8::1]:4711", for=127.0.0.1' }, 401],
    [{ forwarded: 'proto=https' }, 401],
    [{ 'x-forwarded-for': '127.0.0.1' }, 200],
    [{ 'x-forwarded-for': '::1, ::ffff:127.0.0.1', 'x-real-ip': '127.0.0.1' }, 200],
    [{ forwarded: 'for=127.0.0.1;by=_x, for="[::1]:80"' }, 200],
    [{}, 200],
  ] as const)('attack: answers %j with %i', async (headers, status) => {
    const server = createServer({ tokens: 'none' });
    onTestFinished(() => server.close());
    const { url } = await server.listen({ port: 0 });
    expect((await fetch(new URL('/tasks', url), { headers })).status).toBe(status);
  });
});
