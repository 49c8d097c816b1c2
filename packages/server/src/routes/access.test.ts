import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer, type Server } from '../create-server.ts';
import { allRoutes } from './all-routes.ts';

const answer = { type: 'text', author: 'agent', content: 'classified' } as const;
const served = (name: string): ServedAgent => ({
  ...{ type: 'sync', name },
  onMessage: async () => answer,
});

/** All that belongs to one agent, by what the document calls it. */
interface Belongings {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly task_id: string;
  readonly task_name: string;
  /** A chat is a task of its name. */
  readonly chat_id: string;
  readonly message_id: string;
  readonly event_id: string;
  readonly state_id: string;
  readonly span_id: string;
  readonly tracker_id: string;
  readonly token_id: string;
  readonly hash: string;
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
type Json = any;

interface Told {
  readonly status: number;
  readonly text: string;
}

let server: Server;
let url: string;

async function ask(
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<Told> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (isStream) await response.body?.cancel();
  return { status: response.status, text: isStream ? '' : await response.text() };
}

async function made(method: string, path: string, body: unknown): Promise<Json> {
  const { status, text } = await ask('operator', method, path, body);
  expect([status, text]).toEqual([expect.toSatisfy((code) => code < 300), expect.any(String)]);
  return JSON.parse(text);
}

const said = { type: 'text', author: 'user', content: 'classified' };

async function belongingsOf(agent_name: string): Promise<Belongings> {
  const { id: agent_id } = await made('GET', `/agents/name/${agent_name}`, undefined);
  const task_name = `task of ${agent_name}`;
  const create = { method: 'task/create', params: { name: task_name } };
  const { result: task } = await made('POST', `/agents/${agent_id}/rpc`, create);
  const task_id = task.id as string;
  const message = await made('POST', '/messages', { task_id, content: said });
  const state = await made('POST', '/states', { task_id, agent_id, state: { a: 'classified' } });
  const start_time = '2026-01-01T00:00:00Z';
  const span = { trace_id: 'trace', name: 'classified', start_time, task_id };
  const { id: span_id } = await made('POST', '/spans', span);
  const { id: token_id } = await made('POST', '/tokens', { agent_id });
  return {
    ...{
      agent_id,
      agent_name,
      task_id,
      task_name,
      chat_id: task_name,
      message_id: message.id,
      state_id: state.id,
    },
    ...{ event_id: `${task_id}.1`, span_id, tracker_id: task_id, token_id, hash: '0'.repeat(64) },
  };
}

type Fill = (of: Belongings) => unknown;

const textChat = { role: 'user', parts: [{ type: 'text', text: 'hi' }] };
const rpc: Fill = ({ task_id }) => ({
  method: 'message/send',
  params: { task_id, content: said },
});

/** Bodies and queries that name what belongs to somebody. */
const inputs: Readonly<Record<string, { readonly body?: Fill; readonly query?: Fill }>> = {
  'POST /agents/{agent_id}/rpc': { body: rpc },
  'POST /agents/name/{agent_name}/rpc': { body: rpc },
  'POST /agents/register': {
    body: ({ agent_name: name }) => ({
      ...{ name, description: '', acp_url: 'http://127.0.0.1:1', acp_type: 'sync' },
    }),
  },
  'POST /agents/register-build': {
    body: ({ agent_name: name }) => ({ name, description: '' }),
  },
  'PUT /tasks/{task_id}': { body: () => ({ task_metadata: {} }) },
  'PUT /tasks/name/{task_name}': { body: () => ({ task_metadata: {} }) },
  'POST /tasks/{task_id}/commands': { body: () => ({ type: 'abort' }) },
  'POST /tasks/{task_id}/fork': { body: () => ({}) },
  'GET /tasks/{task_id}/request': { query: () => ({ turn: 1 }) },
  'POST /agents/name/{agent_name}/chat': {
    body: ({ task_name: id }) => ({ id, messages: [textChat] }),
  },
  'GET /messages': { query: ({ task_id }) => ({ task_id }) },
  'GET /messages/paginated': { query: ({ task_id }) => ({ task_id }) },
  'POST /messages': { body: ({ task_id }) => ({ task_id, content: said }) },
  'POST /messages/batch': { body: ({ task_id }) => ({ task_id, contents: [said] }) },
  'PUT /messages/{message_id}': { body: ({ task_id }) => ({ task_id, content: said }) },
  'PUT /messages/batch': {
    body: ({ task_id, message_id }) => ({ task_id, updates: { [message_id]: said } }),
  },
  'GET /events': { query: ({ task_id, agent_id }) => ({ task_id, agent_id }) },
  'POST /states': { body: ({ task_id, agent_id }) => ({ task_id, agent_id, state: {} }) },
  'GET /states': { query: ({ task_id }) => ({ task_id }) },
  'PUT /states/{state_id}': { body: () => ({ state: {} }) },
  'POST /spans': {
    body: ({ task_id }) => ({
      ...{ trace_id: 'trace', name: 'x', start_time: '2026-01-01T00:00:00Z', task_id },
    }),
  },
  'GET /spans': { query: ({ task_id }) => ({ task_id }) },
  'PATCH /spans/{span_id}': { body: () => ({ name: 'y' }) },
  'GET /tracker': { query: ({ task_id }) => ({ task_id }) },
  'PUT /tracker/{tracker_id}': { body: () => ({ status: 'x' }) },
  'GET /agents': { query: ({ task_id }) => ({ task_id }) },
  'GET /tasks': { query: ({ agent_id }) => ({ agent_id }) },
  'POST /tokens': { body: ({ agent_id }) => ({ agent_id }) },
};

/** With all that they take away last, so that there is something before. */
const operations = allRoutes
  .map(({ method, path, access, body }) => ({
    ...{ name: `${method} ${path}`, method, path, access, hasBody: body !== undefined },
  }))
  .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));
const guarded = operations.filter(({ access }) => access !== 'public');
type Operation = (typeof operations)[number];

function send(token: string | undefined, { name, method, path }: Operation, of: Belongings) {
  const { body, query } = inputs[name] ?? {};
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: keyof Belongings) =>
    encodeURIComponent(of[field] ?? 'nothing'),
  );
  const search = new URLSearchParams((query?.(of) ?? {}) as Record<string, string>);
  return ask(token, method, `${filled}?${search}`, body?.(of));
}

let mine: Belongings;
let others: Belongings;
let agentKey: string;
let taskKey: string;

beforeAll(async () => {
  server = createServer({ agents: [served('mine'), served('others')], tokens: ['operator'] });
  ({ url } = await server.listen({ port: 0 }));
  [mine, others] = [await belongingsOf('mine'), await belongingsOf('others')];
  agentKey = (await made('POST', '/tokens', { agent_id: mine.agent_id })).token;
  taskKey = (await made('POST', '/tokens', { task_id: mine.task_id })).token;
});

afterAll(() => server.close());

test('every operation that takes a body is tried with one', () => {
  const isOptional = /\/(?:complete|fail|cancel|interrupt|terminate|timeout)$/;
  const untried = guarded.filter(
    ({ name, hasBody }) => hasBody && inputs[name]?.body === undefined && !isOptional.test(name),
  );
  expect(untried.map(({ name }) => name)).toEqual([]);
});

describe.each(guarded.map((operation) => [operation.name, operation] as const))(
  '%s',
  (_, operation) => {
    test.each([
      ['no token', undefined],
      ['a token that nobody gave', 'mr_x'],
      ['an empty token', ''],
    ])('is refused with %s', async (_what, token) => {
      expect((await send(token, operation, others)).status).toBe(401);
    });

    test.each([
      ['another agent', () => agentKey],
      ['another agent’s task', () => taskKey],
    ])('is refused with the token of %s, as if nothing were there', async (_what, token) => {
      const told = await send(token(), operation, others);
      expect([403, 404]).toContain(told.status);
      expect(told.text).not.toContain('classified');
      // What is not there is refused in the same words, so that nobody learns what is.
      const nothing: Belongings = {
        ...{ agent_id: 'a'.repeat(24), agent_name: 'no-agent', task_id: 'b'.repeat(24) },
        ...{ task_name: 'no such task', chat_id: 'no such task' },
        ...{ message_id: `${'b'.repeat(24)}.0.0.x`, hash: others.hash },
        ...{ event_id: `${'b'.repeat(24)}.1`, state_id: 'no-state', span_id: 'no-span' },
        ...{ tracker_id: 'b'.repeat(24), token_id: 'e'.repeat(64) },
      };
      const absent = await send(token(), operation, nothing);
      const [a, b] = [masked(told, others), masked(absent, nothing)];
      if (a.status === 404 && b.status === 404) expect(a).toEqual(b);
    });
  },
);

/** Without the names of what was asked for. */
function masked({ status, text }: Told, of: Belongings): Told {
  const names = Object.values(of).toSorted((a, b) => b.length - a.length);
  return { status, text: names.reduce((left, name) => left.replaceAll(name, '…'), text) };
}

test('what is one’s own is reached with either token', async () => {
  const reads = guarded.filter(
    ({ method, path }) => method === 'GET' && !/tokens|blobs|\{event_id\}|chat|request$/.test(path),
  );
  const told = await Promise.all(
    reads.flatMap((operation) =>
      [agentKey, taskKey].map(async (token) => [
        operation.name,
        (await send(token, operation, mine)).status,
      ]),
    ),
  );
  expect(told).toEqual(told.map(([name]) => [name, 200]));
});

test('a list without a filter has nothing of anybody else', async () => {
  for (const path of [
    '/agents',
    '/tasks',
    '/states',
    '/tracker',
    '/spans',
    '/tasks?agent_name=mine',
  ])
    for (const token of [agentKey, taskKey]) {
      const { text } = await ask(token, 'GET', path);
      expect(text).not.toContain(others.agent_id);
      expect(text).not.toContain(others.task_id);
    }
});

test('a chat of one’s own agent does not reach another’s task by its name', async () => {
  const path = `/agents/name/${mine.agent_name}/chat`;
  const body = { id: others.task_name, messages: [textChat] };
  for (const token of [agentKey, taskKey]) {
    const said = await ask(token, 'POST', path, body);
    expect([403, 409]).toContain(said.status);
    const loaded = await ask(token, 'GET', `${path}/${encodeURIComponent(others.task_name)}`);
    expect(said.text + loaded.text).not.toMatch(new RegExp(`classified|${others.task_id}`));
  }
});

test('a stream ends when its token is revoked, and no other does', async () => {
  const given = await made('POST', '/tokens', { task_id: mine.task_id });
  const open = (token: string) =>
    fetch(new URL(`/tasks/${mine.task_id}/stream`, url), {
      headers: { authorization: `Bearer ${token}` },
    });
  const [revoked, other] = [await open(given.token), await open(taskKey)];
  const reader = other.body?.getReader();
  await reader?.read();
  expect((await ask('operator', 'DELETE', `/tokens/${given.id}`)).status).toBe(200);
  await expect(revoked.text()).rejects.toThrow();
  expect((await ask(given.token, 'GET', `/tasks/${mine.task_id}`)).status).toBe(401);
  const renamed = { task_metadata: { seen: true } };
  await made('PUT', `/tasks/${mine.task_id}`, renamed);
  const { value } = (await reader?.read()) ?? {};
  expect(new TextDecoder().decode(value)).toContain('seen');
  await reader?.cancel();
});

test('one caller has so many streams, and others have theirs', async () => {
  const limited = createServer({
    ...{ agents: [served('mine')], tokens: ['one', 'two'], limits: { maxStreamsPerCaller: 2 } },
  });
  const { url: at } = await limited.listen({ port: 0 });
  try {
    const post = (body: object) =>
      fetch(new URL('/agents/name/mine/rpc', at), {
        method: 'POST',
        headers: { authorization: 'Bearer one', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const made = (await (await post({ method: 'task/create' })).json()) as Json;
    const open = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return fetch(new URL(`/tasks/${made.result.id}/stream`, at), { headers });
    };
    const streams = [await open('one'), await open('one'), await open('two')];
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
    const refused = await open('one');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    await refused.text();
    await Promise.all(streams.map(({ body }) => body?.cancel()));
  } finally {
    await limited.close();
  }
});
