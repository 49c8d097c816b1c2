import { memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import type { Json } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// The holder of a share link follows a task at one server of a cluster. The owner revokes the link at another
// server.

const operator = testToken('operator');
const answer = { type: 'text', author: 'agent', content: 'Hello.' } as const;

async function cluster() {
  const clock = new TestClock();
  const log = memoryLog({ clock });
  const rows = memoryRows({ clock });
  const start = async () => {
    const server = createServer({
      ...{ log, rows, clock, tokens: [operator] },
      agents: [{ type: 'sync', name: 'a', onMessage: async () => answer }],
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
