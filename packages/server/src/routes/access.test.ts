import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AgentData,
  bodyOf,
  guarded,
  type Json,
  nothing,
  ScopeServer,
  textChat,
} from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

let server: ScopeServer;
let own: AgentData;
let others: AgentData;
let agentKey: string;
let taskKey: string;

beforeAll(async () => {
  server = await ScopeServer.start();
  [own, others] = [await server.createData('own'), await server.createData('others')];
  agentKey = await server.createToken({ agent_id: own.agent_id });
  taskKey = await server.createToken({ task_id: own.task_id });
});

afterAll(() => server[Symbol.asyncDispose]());

test('every operation with a body is tested with one', () => {
  expect(() => guarded.map((operation) => bodyOf(operation, nothing))).not.toThrow();
});

test('every operation of the OpenAPI document that has a JSON body is sent an unknown field', async () => {
  const { paths } = await server.asOperator('GET', '/openapi.json');
  const documented = Object.entries<Json>(paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).flatMap(([method, { requestBody }]) =>
      requestBody?.content['application/json'] === undefined
        ? []
        : [`${method.toUpperCase()} ${path}`],
    ),
  );
  expect(documented.toSorted()).toEqual(
    guarded
      .filter(({ hasBody }) => hasBody)
      .map(({ name }) => name)
      .toSorted(),
  );
});

// The agents of this server are not loops, so the endpoints of OpenAI have no models and no responses of them.
const reads = guarded.filter(
  ({ method, path }) =>
    method === 'GET' &&
    !/tokens|blobs|sub-agents|\{event_id\}|chat|mcp|a2a|agent-card|request$|\{experiment_name\}|\{response_id\}|\{conversation_id\}|\{model\}/.test(
      path,
    ),
);

test('both kinds of token give access to their own things', async () => {
  const answer = await Promise.all(
    reads.flatMap((operation) =>
      [agentKey, taskKey].map(async (token) => [
        operation.name,
        (await server.send(token, operation, own)).status,
      ]),
    ),
  );
  expect(answer).toEqual(answer.map(([name]) => [name, 200]));
});

test('a read-only token reads everything that it may see, by name too', async () => {
  const reader = await server.createToken({ task_name: own.task_name, read_only: true });
  for (const operation of reads) {
    const { status } = await server.send(reader, operation, own);
    expect([operation.name, status]).toEqual([operation.name, 200]);
  }
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
      const { text } = await server.ask(token, 'GET', path);
      expect(text).not.toContain(others.agent_id);
      expect(text).not.toContain(others.task_id);
    }
});

test('a chat with the own agent cannot reach another agent’s task by its name', async () => {
  const path = `/agents/name/${own.agent_name}/chat`;
  const body = { id: others.task_name, messages: [textChat] };
  for (const token of [agentKey, taskKey]) {
    const answer = await server.ask(token, 'POST', path, body);
    expect([403, 409]).toContain(answer.status);
    const loaded = await server.ask(
      ...([token, 'GET', `${path}/${encodeURIComponent(others.task_name)}`] as const),
    );
    expect(answer.text + loaded.text).not.toMatch(new RegExp(`classified|${others.task_id}`));
  }
});

test('revoking a token ends its streams and no others', async () => {
  const given = await server.asOperator('POST', '/tokens', { task_id: own.task_id });
  const open = (token: string) =>
    fetch(new URL(`/tasks/${own.task_id}/stream`, server.url), {
      headers: { authorization: `Bearer ${token}` },
    });
  const [revoked, other] = [await open(given.token), await open(taskKey)];
  const reader = other.body?.getReader();
  await reader?.read();
  await server.asOperator('DELETE', `/tokens/${given.id}`);
  await expect(revoked.text()).rejects.toThrow();
  expect((await server.ask(given.token, 'GET', `/tasks/${own.task_id}`)).status).toBe(401);
  const renamed = { task_metadata: { seen: true } };
  await server.asOperator('PUT', `/tasks/${own.task_id}`, renamed);
  const { value } = (await reader?.read()) ?? {};
  expect(new TextDecoder().decode(value)).toContain('seen');
  await reader?.cancel();
});

test('the streams of a token end when it expires', async () => {
  const token = await server.createToken({ task_id: own.task_id, expires_in: 1 });
  const response = await fetch(new URL(`/tasks/${own.task_id}/stream`, server.url), {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
  expect((await server.ask(token, 'GET', `/tasks/${own.task_id}`)).status).toBe(401);
  const listed: readonly { readonly expires_at: string | null }[] = await server.asOperator(
    'GET',
    '/tokens',
  );
  expect(listed.every(({ expires_at }) => expires_at === null)).toBe(true);
});

test('the limit of open streams applies per caller', async () => {
  const [one, two] = [testToken('operator'), testToken('two')];
  await using limited = await ScopeServer.start({
    ...{ tokens: [one, two], limits: { maxStreamsPerCaller: 2 } },
  });
  const { result } = await limited.asOperator('POST', '/agents/name/own/rpc', {
    method: 'task/create',
  });
  const open = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return fetch(new URL(`/tasks/${result.id}/stream`, limited.url), { headers });
  };
  const streams = [await open(one), await open(one), await open(two)];
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
  const refused = await open(one);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  await refused.text();
  await Promise.all(streams.map(({ body }) => body?.cancel()));
});
