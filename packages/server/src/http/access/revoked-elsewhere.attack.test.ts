import { memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { expect, onTestFinished, test } from 'vitest';
import { fullGrant } from '../../contract/service.ts';
import { createServer } from '../../create-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import type { Json } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';
import { TokenStore } from './token-store.ts';

// The holder of a share link follows a task at one server of a cluster. The owner revokes the link at another
// server.

const operator = testToken('operator');
const answer = { type: 'text', author: 'agent', content: 'Hello.' } as const;

async function cluster(onMessage: () => Promise<typeof answer> = async () => answer) {
  const clock = new TestClock();
  const log = memoryLog({ clock });
  const rows = memoryRows({ clock });
  const start = async () => {
    const server = createServer({
      ...{ log, rows, clock, tokens: [operator] },
      agents: [{ type: 'sync', name: 'a', onMessage }],
    });
    onTestFinished(() => server.close());
    return (await server.listen({ port: 0 })).url;
  };
  return { clock, first: await start(), second: await start() };
}

const ask = async (url: string, method: string, path: string, body?: object): Promise<Json> => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.json();
};

/** Opens the stream of a task, and returns whether it has ended. */
async function follow(url: string, task: string, token: string) {
  const response = await fetch(`${url}/tasks/${task}/stream?view=records`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  const state = { isOver: false };
  void response.text().then(
    () => Object.assign(state, { isOver: true }),
    () => Object.assign(state, { isOver: true }),
  );
  return state;
}

test('18.128: attack: a token that another server revoked keeps no open stream', async () => {
  const { clock, first, second } = await cluster();
  const create = { method: 'task/create', params: {} };
  const { result } = await ask(first, 'POST', '/agents/name/a/rpc', create);
  const share = { task_id: result.id, read_only: true };
  const { token, id } = await ask(first, 'POST', '/tokens', share);
  const here = await follow(first, result.id, token);
  const there = await follow(second, result.id, token);
  const owner = await follow(second, result.id, operator);
  await ask(first, 'DELETE', `/tokens/${id}`);
  const advance = async () => {
    await clock.advance(5000);
    return [here.isOver, there.isOver];
  };
  await expect.poll(advance).toEqual([true, true]);
  expect(owner.isOver).toBe(false);
});

test('18.189: attack: a token that a revoked token created stays valid', async () => {
  const { first } = await cluster();
  const statusOf = async (token: string) =>
    (await fetch(`${first}/tasks`, { headers: { authorization: `Bearer ${token}` } })).status;
  const issueWith = async (token: string): Promise<Json> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${first}/tokens`, { method: 'POST', headers, body: '{}' });
    return response.json();
  };
  const stolen = await issueWith(operator);
  const child = await issueWith(stolen.token);
  const grandchild = await issueWith(child.token);
  const other = await issueWith(operator);
  expect([stolen, child, grandchild].map(({ issuer_id }) => issuer_id)).toEqual([
    ...[null, stolen.id, child.id],
  ]);
  await ask(first, 'DELETE', `/tokens/${stolen.id}`);
  for (const { token } of [stolen, child, grandchild]) expect(await statusOf(token)).toBe(401);
  expect(await statusOf(other.token)).toBe(200);
});

test('attack 18.280: the key of an agent that a revoked token registered stays valid', async () => {
  const { first } = await cluster();
  const send = async (token: string, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${first}${path}`, init);
    return { status: response.status, json: (await response.json()) as Json };
  };
  const agent = { name: 'thief', description: '', acp_url: 'https://a.example', acp_type: 'sync' };
  const register = (token: string) => send(token, 'POST', '/agents/register', agent);
  const { json: stolen } = await send(operator, 'POST', '/tokens', {});
  const { json: registered } = await register(stolen.token);
  const key = registered.agent_api_key;
  // Neither the agent itself nor an operator changes who has received the key.
  expect((await register(key)).status).toBe(200);
  expect((await register(operator)).json.agent_api_key).toBe(key);
  const { json: listed } = await send(operator, 'GET', '/tokens');
  const keys = (listed as unknown as Json[]).filter(({ agent_id }) => agent_id === registered.id);
  expect(keys.map(({ issuer_id }) => issuer_id)).toEqual([stolen.id]);
  await send(operator, 'DELETE', `/tokens/${stolen.id}`);
  expect((await send(key, 'GET', '/tasks')).status).toBe(401);
  expect((await register(key)).status).toBe(401);
  const { json: again } = await register(operator);
  expect(again.agent_api_key).not.toBe(key);
  expect((await send(again.agent_api_key, 'GET', '/tasks')).status).toBe(200);
});

test('18.570: attack: the list of tokens leaves out valid tokens behind 1,000 others', async () => {
  const clock = new TestClock();
  const tokens = new TokenStore(memoryRows({ clock }), [operator], clock);
  const issue = (lifetimeMs?: number) =>
    tokens.issue({ scope: { kind: 'all' }, lifetimeMs }, fullGrant);
  for (let issued = 0; issued < 1050; issued++) await issue(10_000);
  await clock.advance(60_000);
  for (let issued = 0; issued < 1050; issued++) await issue();
  expect(await tokens.list()).toHaveLength(1050);
});

test.each([
  ['another server revoked', {}],
  ['expired', { expires_in: 1 }],
])('18.554: attack: a request whose token %s receives a late answer', async (_what, lifetime) => {
  const started = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const { clock, first, second } = await cluster(async () => {
    started.resolve();
    await held.promise;
    return answer;
  });
  const { token, id } = await ask(first, 'POST', '/tokens', { agent_name: 'a', ...lifetime });
  const send = async (by: string) => {
    const content = { type: 'text', author: 'user', content: 'Hi.' };
    const response = await fetch(`${first}/agents/name/a/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'message/send', params: { content } }),
    });
    return { status: response.status, text: await response.text() };
  };
  const late = send(token);
  await started.promise;
  const other = send(operator);
  if (!('expires_in' in lifetime)) await ask(second, 'DELETE', `/tokens/${id}`);
  clock.jump(1000);
  held.resolve();
  const { status, text } = await late;
  expect([status, text.includes(answer.content)]).toEqual([401, false]);
  expect((await other).text).toContain(answer.content);
});
