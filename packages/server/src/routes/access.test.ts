import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer, type Server } from '../create-server.ts';
import { allRoutes } from './all-routes.ts';

const answer = { type: 'text', author: 'agent', content: 'classified' } as const;
const served = (name: string): ServedAgent => ({
  ...{ type: 'sync', name },
  onMessage: async () => answer,
});

/** Everything that belongs to one agent, by its parameter name. */
interface AgentData {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly task_id: string;
  readonly task_name: string;
  /** A chat is a task with its name. */
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

interface TestAnswer {
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
): Promise<TestAnswer> {
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

async function sendAsOperator(method: string, path: string, body: unknown): Promise<Json> {
  const { status, text } = await ask('operator', method, path, body);
  expect([status, text]).toEqual([expect.toSatisfy((code) => code < 300), expect.any(String)]);
  return JSON.parse(text);
}

const secretContent = { type: 'text', author: 'user', content: 'classified' };

async function createAgentData(agent_name: string): Promise<AgentData> {
  const { id: agent_id } = await sendAsOperator('GET', `/agents/name/${agent_name}`, undefined);
  const task_name = `task of ${agent_name}`;
  const create = { method: 'task/create', params: { name: task_name } };
  const { result: task } = await sendAsOperator('POST', `/agents/${agent_id}/rpc`, create);
  const task_id = task.id as string;
  const message = await sendAsOperator('POST', '/messages', { task_id, content: secretContent });
  const state = await sendAsOperator('POST', '/states', {
    task_id,
    agent_id,
    state: { a: 'classified' },
  });
  const start_time = '2026-01-01T00:00:00Z';
  const span = { trace_id: 'trace', name: 'classified', start_time, task_id };
  const { id: span_id } = await sendAsOperator('POST', '/spans', span);
  const { id: token_id } = await sendAsOperator('POST', '/tokens', { agent_id });
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

type Fill = (of: AgentData) => unknown;

const textChat = { role: 'user', parts: [{ type: 'text', text: 'hi' }] };
const rpc: Fill = ({ task_id }) => ({
  method: 'message/send',
  params: { task_id, content: secretContent },
});

/** Bodies and queries that name things of an agent. */
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
  'POST /messages': { body: ({ task_id }) => ({ task_id, content: secretContent }) },
  'POST /messages/batch': { body: ({ task_id }) => ({ task_id, contents: [secretContent] }) },
  'PUT /messages/{message_id}': { body: ({ task_id }) => ({ task_id, content: secretContent }) },
  'PUT /messages/batch': {
    body: ({ task_id, message_id }) => ({ task_id, updates: { [message_id]: secretContent } }),
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

/** Deletions come last, so that the other operations find something. */
const operations = allRoutes
  .map(({ method, path, access, body }) => ({
    ...{ name: `${method} ${path}`, method, path, access, hasBody: body !== undefined },
  }))
  .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));
const guarded = operations.filter(({ access }) => access !== 'public');
type Operation = (typeof operations)[number];

function send(token: string | undefined, { name, method, path }: Operation, of: AgentData) {
  const { body, query } = inputs[name] ?? {};
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: keyof AgentData) =>
    encodeURIComponent(of[field] ?? 'nothing'),
  );
  const search = new URLSearchParams((query?.(of) ?? {}) as Record<string, string>);
  return ask(token, method, `${filled}?${search}`, body?.(of));
}

let own: AgentData;
let others: AgentData;
let agentKey: string;
let taskKey: string;

beforeAll(async () => {
  server = createServer({ agents: [served('own'), served('others')], tokens: ['operator'] });
  ({ url } = await server.listen({ port: 0 }));
  [own, others] = [await createAgentData('own'), await createAgentData('others')];
  agentKey = (await sendAsOperator('POST', '/tokens', { agent_id: own.agent_id })).token;
  taskKey = (await sendAsOperator('POST', '/tokens', { task_id: own.task_id })).token;
});

afterAll(() => server.close());

test('every operation with a body is tested with one', () => {
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
      ['an unknown token', 'mr_x'],
      ['an empty token', ''],
    ])('is rejected with %s', async (_what, token) => {
      expect((await send(token, operation, others)).status).toBe(401);
    });

    test.each([
      ['another agent', () => agentKey],
      ['another agent’s task', () => taskKey],
    ])('is rejected with the token of %s, as if nothing existed', async (_what, token) => {
      const answer = await send(token(), operation, others);
      expect([403, 404]).toContain(answer.status);
      expect(answer.text).not.toContain('classified');
      // A missing thing is rejected with the same text, so that a client cannot find out what
      // exists.
      const nothing: AgentData = {
        ...{ agent_id: 'a'.repeat(24), agent_name: 'no-agent', task_id: 'b'.repeat(24) },
        ...{ task_name: 'no such task', chat_id: 'no such task' },
        ...{ message_id: `${'b'.repeat(24)}.0.0.x`, hash: others.hash },
        ...{ event_id: `${'b'.repeat(24)}.1`, state_id: 'no-state', span_id: 'no-span' },
        ...{ tracker_id: 'b'.repeat(24), token_id: 'e'.repeat(64) },
      };
      const absent = await send(token(), operation, nothing);
      const [a, b] = [masked(answer, others), masked(absent, nothing)];
      if (a.status === 404 && b.status === 404) expect(a).toEqual(b);
    });
  },
);

/** Removes the names that the request contained. */
function masked({ status, text }: TestAnswer, of: AgentData): TestAnswer {
  const names = Object.values(of).toSorted((a, b) => b.length - a.length);
  return { status, text: names.reduce((left, name) => left.replaceAll(name, '…'), text) };
}

test('both kinds of token give access to their own things', async () => {
  const reads = guarded.filter(
    ({ method, path }) => method === 'GET' && !/tokens|blobs|\{event_id\}|chat|request$/.test(path),
  );
  const answer = await Promise.all(
    reads.flatMap((operation) =>
      [agentKey, taskKey].map(async (token) => [
        operation.name,
        (await send(token, operation, own)).status,
      ]),
    ),
  );
  expect(answer).toEqual(answer.map(([name]) => [name, 200]));
});

test('a list without a filter contains nothing of other agents', async () => {
  for (const path of [
    '/agents',
    '/tasks',
    '/states',
    '/tracker',
    '/spans',
    '/tasks?agent_name=own',
  ])
    for (const token of [agentKey, taskKey]) {
      const { text } = await ask(token, 'GET', path);
      expect(text).not.toContain(others.agent_id);
      expect(text).not.toContain(others.task_id);
    }
});

test('a chat with the own agent cannot reach another agent’s task by its name', async () => {
  const path = `/agents/name/${own.agent_name}/chat`;
  const body = { id: others.task_name, messages: [textChat] };
  for (const token of [agentKey, taskKey]) {
    const secretContent = await ask(token, 'POST', path, body);
    expect([403, 409]).toContain(secretContent.status);
    const loaded = await ask(token, 'GET', `${path}/${encodeURIComponent(others.task_name)}`);
    expect(secretContent.text + loaded.text).not.toMatch(
      new RegExp(`classified|${others.task_id}`),
    );
  }
});

test('revoking a token ends its streams and no others', async () => {
  const given = await sendAsOperator('POST', '/tokens', { task_id: own.task_id });
  const open = (token: string) =>
    fetch(new URL(`/tasks/${own.task_id}/stream`, url), {
      headers: { authorization: `Bearer ${token}` },
    });
  const [revoked, other] = [await open(given.token), await open(taskKey)];
  const reader = other.body?.getReader();
  await reader?.read();
  expect((await ask('operator', 'DELETE', `/tokens/${given.id}`)).status).toBe(200);
  await expect(revoked.text()).rejects.toThrow();
  expect((await ask(given.token, 'GET', `/tasks/${own.task_id}`)).status).toBe(401);
  const renamed = { task_metadata: { seen: true } };
  await sendAsOperator('PUT', `/tasks/${own.task_id}`, renamed);
  const { value } = (await reader?.read()) ?? {};
  expect(new TextDecoder().decode(value)).toContain('seen');
  await reader?.cancel();
});

test('the limit of open streams applies per caller', async () => {
  const limited = createServer({
    ...{ agents: [served('own')], tokens: ['one', 'two'], limits: { maxStreamsPerCaller: 2 } },
  });
  const { url: at } = await limited.listen({ port: 0 });
  try {
    const post = (body: object) =>
      fetch(new URL('/agents/name/own/rpc', at), {
        method: 'POST',
        headers: { authorization: 'Bearer one', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const sendAsOperator = (await (await post({ method: 'task/create' })).json()) as Json;
    const open = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return fetch(new URL(`/tasks/${sendAsOperator.result.id}/stream`, at), { headers });
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
