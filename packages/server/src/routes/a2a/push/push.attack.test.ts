import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineTool } from '@millrace/agent';
import { memoryLog, systemClock } from '@millrace/log';
import { toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ServerOptions } from '../../../create-server.ts';
import { AgentNetwork } from '../../../network/agent-network.ts';
import { memoryRows } from '../../../rows/memory-rows.ts';
import { serveOpenAi } from '../../../testing/openai-client.ts';
import { asUser, userOfCookie } from '../../../testing/scope-requests.ts';
import { testToken } from '../../../testing/servers/test-server.ts';
import { PushNotifier } from './push-notifier.ts';

const operator = testToken('operator');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const path = '/agents/name/helper/a2a';
const remove = defineTool({
  ...{ name: 'remove', description: 'Removes', input: z.object({}) },
  execute: async () => 'Removed',
});

/** Serves an address that receives notifications. */
async function serveHook() {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += String(piece);
    received.push(JSON.parse(text).statusUpdate.status.state);
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { hook: `http://127.0.0.1:${port}/hook?key=secret`, received };
}

/** Serves a task that waits for an approval, and two hooks: of a restricted client and of the operator. */
async function serveWaiting(options: Partial<ServerOptions> = {}) {
  const rows = memoryRows();
  const { url } = await serveOpenAi([toolCall('remove', {}, 'c1'), 'Done.'], {
    agent: { tools: [remove], approve: () => 'ask' },
    server: {
      ...{ rows, tokens: [operator], authorize: userOfCookie },
      ...{ a2a: { pushNetworks: ['loopback'] }, ...options },
    },
  });
  const ask = async (method: string, at: string, headers: object, body?: object) => {
    const reply = await fetch(url + at, {
      ...{ method, ...(body && { body: JSON.stringify(body) }) },
      headers: { 'a2a-version': '1.0', 'content-type': 'application/json', ...headers },
    });
    // biome-ignore lint/suspicious/noExplicitAny: the test reads many shapes
    return { status: reply.status, json: (await reply.json()) as any };
  };
  const say = (text: string, headers: object, to: object = {}) =>
    ask('POST', `${path}/message:send`, headers, {
      message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], ...to },
    });
  const issue = async (body: object) =>
    (await ask('POST', '/tokens', bearer(operator), body)).json as { token: string; id: string };
  const configure = (task: string, headers: object, hook: string, more: object = {}) =>
    ask('POST', `${path}/tasks/${task}/pushNotificationConfigs`, headers, { url: hook, ...more });
  return { url, rows, ask, say, issue, configure };
}

test('18.376: attack: a restricted client makes the server call services on its own machine', async () => {
  const { say, issue, configure } = await serveWaiting({ a2a: {}, agentNetworks: ['loopback'] });
  const { id, contextId } = (await say('Go', bearer(operator))).json.task;
  const { token } = await issue({ task_id: contextId });
  for (const host of ['127.0.0.1', 'localhost:1', '[::1]', '10.0.0.1', '2130706433']) {
    const reply = await configure(id, bearer(token), `http://${host}/v1/admin/reset`);
    // The address of a name is checked when the server connects.
    if (host !== 'localhost:1') expect([host, reply.status]).toEqual([host, 400]);
  }
});

test('18.377: attack: notifications continue after the token was revoked', async () => {
  const { ask, say, issue, configure, rows } = await serveWaiting();
  const { id, contextId } = (await say('Go', bearer(operator))).json.task;
  const [revoked, kept] = [await serveHook(), await serveHook()];
  const client = await issue({ task_id: contextId });
  expect((await configure(id, bearer(client.token), revoked.hook)).status).toBe(200);
  expect((await configure(id, bearer(operator), kept.hook)).status).toBe(200);
  await ask('DELETE', `/tokens/${client.id}`, bearer(operator));
  await expect.poll(async () => (await rows.list('webhooks', {})).length).toBe(1);
  await say('yes', bearer(operator), { taskId: id });
  await expect.poll(() => kept.received).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
  expect(revoked.received).toEqual([]);
});

test('18.378: attack: notifications continue after a token expired, a day passed, or the task was deleted', async () => {
  const rows = memoryRows();
  const { ask, say, issue, configure } = await serveWaiting({ rows });
  const ada = { cookie: asUser('ada') };
  const { id, contextId } = (await say('Go', ada)).json.task;
  const [user, token, kept] = [await serveHook(), await serveHook(), await serveHook()];
  const client = await issue({ task_id: contextId, expires_in: 3600 });
  for (const [headers, { hook }] of [
    ...([
      [ada, user],
      [bearer(client.token), token],
      [bearer(operator), kept],
    ] as const),
  ])
    expect((await configure(id, headers, hook)).status).toBe(200);
  const stored = await rows.list('webhooks', {});
  const byExpiry = stored.filter(({ data }) => typeof data['expiresAt'] === 'number');
  expect(byExpiry).toHaveLength(2);
  for (const { data } of byExpiry)
    expect(Number(data['expiresAt'])).toBeLessThanOrEqual(Date.now() + 86_400_000);
  await ask('DELETE', `/tasks/${contextId}`, bearer(operator));
  await expect.poll(() => rows.list('webhooks', {})).toEqual([]);
  expect([user.received, token.received, kept.received]).toEqual([[], [], []]);
});

test('18.379: attack: other readers of a task read the secrets of a push configuration', async () => {
  const { ask, say, issue, configure } = await serveWaiting();
  const { id, contextId } = (await say('Go', bearer(operator))).json.task;
  const authentication = { scheme: 'Basic', credentials: 'CREDENTIALS' };
  const more = { id: 'own', token: 'TOKEN', authentication };
  const made = await configure(id, bearer(operator), 'https://example.com/?key=KEY', more);
  expect(JSON.stringify(made.json)).not.toMatch(/TOKEN|CREDENTIALS/);
  const list = `${path}/tasks/${id}/pushNotificationConfigs`;
  for (const rights of [{ read_only: true }, {}]) {
    const { token } = await issue({ task_id: contextId, ...rights });
    const replies = [
      await ask('GET', list, bearer(token)),
      await ask('GET', `${list}/own`, bearer(token)),
    ];
    expect(JSON.stringify(replies)).not.toMatch(/KEY|TOKEN|CREDENTIALS/);
    expect(replies.map(({ status }) => status)).toEqual([200, 404]);
  }
  expect((await ask('GET', list, bearer(operator))).json.configs).toMatchObject([{ id: 'own' }]);
});

test('18.415: attack: a token for one task replaces or deletes the push configuration of its owner', async () => {
  const { ask, say, issue, configure } = await serveWaiting();
  const { id, contextId } = (await say('Go', bearer(operator))).json.task;
  const owner = 'https://example.com/owner';
  await configure(id, bearer(operator), owner, { id: 'default' });
  const list = `${path}/tasks/${id}/pushNotificationConfigs`;
  const { token } = await issue({ task_id: contextId });
  const evil = await configure(id, bearer(token), 'https://example.com/evil', { id: 'default' });
  expect([evil.status, JSON.stringify(evil.json)]).toEqual([
    400,
    expect.stringContaining('another client'),
  ]);
  expect((await ask('DELETE', `${list}/default`, bearer(token))).status).toBe(404);
  const { configs } = (await ask('GET', list, bearer(operator))).json;
  expect(configs).toMatchObject([{ id: 'default', url: owner }]);
  // The token has its own configurations, and the owner can use all of them.
  await configure(id, bearer(token), 'https://example.com/own', { id: 'other' });
  expect((await ask('DELETE', `${list}/other`, bearer(token))).status).toBe(200);
  expect((await ask('DELETE', `${list}/default`, bearer(operator))).status).toBe(200);
  expect((await ask('GET', list, bearer(operator))).json.configs).toEqual([]);
});

test('18.380: attack: a restarted server reads the runs of all configurations at once', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const calls = Array.from({ length: 6 }, () => toolCall('remove', {}));
  const agent = { tools: [remove], approve: () => 'ask' as const };
  const server = { rows, a2a: { pushNetworks: ['loopback'] } };
  const { url } = await serveOpenAi(calls, { agent, log, server });
  const { hook, received } = await serveHook();
  const headers = { 'a2a-version': '1.0', 'content-type': 'application/json' };
  for (const messageId of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'Go' }] };
    const configuration = { taskPushNotificationConfig: { url: hook } };
    const body = JSON.stringify({ message, configuration });
    await fetch(`${url}${path}/message:send`, { method: 'POST', headers, body });
  }
  await expect.poll(() => received.length).toBe(12);
  let [open, most, reads] = [0, 0, 0];
  const slow = new Proxy(log, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const call = (...args: unknown[]) => Reflect.apply(value, target, args);
      if (name !== 'read') return call;
      return async (...args: unknown[]) => {
        if (Object.hasOwn(args[1] ?? {}, 'maxBytes')) return call(...args);
        reads++;
        most = Math.max(most, ++open);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
        return call(...args);
      };
    },
  });
  const network = new AgentNetwork(['loopback']);
  const tokens = { isRequired: false, isValid: async () => true, onRevoked: () => {} };
  const notifier = new PushNotifier({
    ...{ rows, log: slow, network, tokens, clock: systemClock, hasSession: async () => true },
  });
  onTestFinished(() => notifier.close());
  await notifier.start();
  await expect.poll(() => reads).toBeGreaterThanOrEqual(6);
  expect(most).toBe(1);
  expect(received).toHaveLength(12);
});
