import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';
import { createToken } from '../http/access/token-store.ts';
import type { Json } from '../testing/scope-requests.ts';

// A client guesses or learns the idempotency key of a different client. The key must not give access to the
// task of that client.

async function start() {
  const operator = createToken();
  const agent = { type: 'sync', name: 'echo' } as const;
  const server = createServer({
    tokens: [operator],
    agents: [
      {
        ...agent,
        onMessage: async () => ({ type: 'text', author: 'agent', content: 'classified' }),
      },
    ],
  });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const send = async (token: string, method: string, path: string, body?: object, key?: string) => {
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return (await response.json()) as Json;
  };
  const rpc = (token: string, method: string, params: object, key?: string) =>
    send(token, 'POST', '/agents/name/echo/rpc', { id: 1, method, params }, key);
  const own = (await rpc(operator, 'task/create', { name: 'mine' })).result.id as string;
  const { token } = await send(operator, 'POST', '/tokens', { task_id: own });
  return { operator, token: token as string, own, send, rpc };
}

const message = (content: string) => ({ content: { type: 'text', author: 'user', content } });

test('attack: a task token does not create its task with the key of another client', async () => {
  const { operator, token, own, rpc } = await start();
  await rpc(operator, 'task/create', { params: { secret: 'classified' } }, 'order-17');
  const answer = await rpc(token, 'task/create', { name: 'mine' }, 'order-17');
  expect(JSON.stringify(answer)).not.toContain('classified');
  expect(answer.result.id).toBe(own);
});

test('attack: a task token does not read an answer with the key of another client', async () => {
  const { operator, token, own, rpc } = await start();
  const theirs = (await rpc(operator, 'message/send', message('Hello'), 'k')).result;
  const params = { task_name: 'mine', ...message('Hello') };
  const ours = (await rpc(token, 'message/send', params, 'k')).result;
  expect(ours[0].task_id).toBe(own);
  expect(ours[0].id).not.toBe(theirs[0].id);
  // The key still works in the task of the token.
  expect((await rpc(token, 'message/send', params, 'k')).result).toEqual(ours);
});

test.each([
  ['by the key of its creation', 'task/create', { params: { secret: 'classified' } }],
  ['by the key of its message', 'message/send', message('classified')],
  ['by its name', 'message/send', { task_name: 'theirs', ...message('classified') }],
])('attack: a deleted task does not come back %s', async (_what, method, params) => {
  const { operator, send, rpc } = await start();
  const { result } = await rpc(operator, method, params, 'k');
  const id = result.id ?? result[0].task_id;
  await send(operator, 'DELETE', `/tasks/${id}`);
  const again = await rpc(operator, method, params, 'k');
  expect(again.error).toBeDefined();
  expect(JSON.stringify(again)).not.toContain('classified');
});

test('attack: an agent learns nothing about the task of another agent that has a name', async () => {
  const operator = createToken();
  const onMessage = async () => ({ type: 'text', author: 'agent', content: 'x' }) as const;
  const server = createServer({
    tokens: [operator],
    agents: ['one', 'two'].map((name) => ({ type: 'sync', name, onMessage })),
  });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const post = async (path: string, body: object, token = operator): Promise<Json> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(new URL(path, url), init)).json();
  };
  const create = { id: 1, method: 'task/create', params: { name: 'z' } };
  const { id } = (await post('/agents/name/one/rpc', create)).result;
  const headers = { authorization: `Bearer ${operator}` };
  await fetch(new URL(`/tasks/${id}`, url), { method: 'DELETE', headers });
  const { token } = await post('/tokens', { agent_name: 'two' });
  const refused = await post('/agents/name/two/rpc', create, token);
  expect(refused.error).toBeDefined();
  expect(JSON.stringify(refused)).not.toContain(id);
});

test('18.183: attack: the opposite answer with the key of another client is refused', async () => {
  const log = memoryLog();
  const refund = defineTool({
    ...{ name: 'refund', description: 'Refunds an order', input: z.object({}) },
    execute: async () => 'Refunded.',
  });
  const calls = ['a', 'b'].map((id) => toolCallPart(toolCallId(id), 'refund', {}));
  const provider = scriptedProvider([{ content: { parts: calls } }, 'Done.']);
  const agent = createAgent({ log, provider, tools: [refund], approve: () => 'ask' });
  const token = createToken();
  const server = createServer({
    log,
    tokens: [token],
    agents: [{ type: 'loop', name: 'd', agent }],
  });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const post = async (path: string, body: object, key = '') => {
    const common = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const headers = { ...common, ...(key !== '' && { 'idempotency-key': key }) };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(new URL(path, url), init);
    return { status: response.status, json: (await response.json()) as Json };
  };
  const { json } = await post('/agents/name/d/rpc', { method: 'task/create', params: {} });
  const path = `/tasks/${json.result.id}/commands`;
  await post(path, { type: 'message', ...message('Refund') });
  const answer = async (type: string, id: string) =>
    (await post(path, { type, tool_call_id: id }, 'k')).status;
  await expect.poll(() => answer('deny', 'a')).toBe(202);
  expect(await answer('deny', 'a')).toBe(202);
  expect(await answer('approve', 'a')).toBe(409);
  expect(await answer('deny', 'b')).toBe(409);
});
