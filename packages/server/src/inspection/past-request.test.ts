import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import type { AgentInfo } from '../contract/task.ts';
import { createServer } from '../create-server.ts';
import { pastRequest } from './past-request.ts';

async function served() {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.']), log });
  const echo: ServedAgent = { type: 'sync', name: 'echo', onMessage: async (content) => content };
  const agents: readonly ServedAgent[] = [{ type: 'loop', name: 'looper', agent }, echo];
  const server = createServer({ tokens: 'none', agents, log });
  const { url } = await server.listen({ port: 0 });
  const rpc = async (name: string, method: string, params: object) => {
    const body = JSON.stringify({ method, params });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/agents/name/${name}/rpc`, { method: 'POST', headers, body });
    return ((await answer.json()) as { readonly result: { readonly id: string } }).result;
  };
  const spoken = async (name: string) => {
    const { id } = await rpc(name, 'task/create', {});
    const content = { type: 'text', author: 'user', content: 'Hi' };
    await rpc(name, 'message/send', { task_id: id, content });
    return id;
  };
  const request = async (id: string, query: string) => {
    const answer = await fetch(`${url}/tasks/${id}/request?${query}`);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const list = async (query: string) =>
    (await (await fetch(`${url}/tasks?${query}`)).json()) as Record<string, unknown>[];
  return { spoken, request, list, [Symbol.asyncDispose]: () => server.close() };
}

test('rebuilds a model request of a loop from the log', async () => {
  await using it = await served();
  const id = await it.spoken('looper');
  const { status, body } = await it.request(id, 'turn=1');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...{ task_id: id, turn: 1, attempt: 1, provider: 'scripted', model: 'script', url: null },
    body: { items: [{ kind: 'user', parts: [{ kind: 'text', text: 'Hi' }] }] },
  });
  expect(body['notes']).toEqual([
    expect.stringContaining('current instructions, tools and settings'),
  ]);
});

test('18.143: attack: many requests for old requests occupy the server', async () => {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(['One.']), log });
  await agent.run('Hi', { session: sessionId('s') }).result;
  const served = { info: {} as AgentInfo, agent: { type: 'loop', name: 'a', agent } as const };
  const ask = () => pastRequest('s', served, { turn: 1, attempt: 1 });
  const results = await Promise.allSettled(Array.from({ length: 60 }, ask));
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(40);
  expect(refused[0]).toMatchObject({ reason: { code: 'rate_limited' } });
  expect(await ask()).toMatchObject({ turn: 1 });
});

test('an unknown attempt is not found, and an invalid turn is refused', async () => {
  await using it = await served();
  const id = await it.spoken('looper');
  const none = await it.request(id, 'turn=1&attempt=7');
  expect([none.status, none.body['message']]).toEqual([
    404,
    expect.stringContaining('no request of turn 1, attempt 7'),
  ]);
  expect((await it.request(id, 'turn=zero')).status).toBe(422);
  expect((await it.request('nobody', 'turn=1')).status).toBe(404);
});

test('requests of an agent that is not a loop cannot be rebuilt, and the error says why', async () => {
  await using it = await served();
  const { status, body } = await it.request(await it.spoken('echo'), 'turn=1');
  expect([status, body['message']]).toEqual([
    400,
    expect.stringContaining('Cannot rebuild requests of agent echo'),
  ]);
});

test('a list reports which tasks are at work, on request', async () => {
  await using it = await served();
  const id = await it.spoken('echo');
  expect(await it.list('relationships=work')).toMatchObject([{ id, is_at_work: false }]);
  expect((await it.list(''))[0]).not.toHaveProperty('is_at_work');
});
