import { defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveOpenAi } from '../testing/openai-client.ts';
import { testToken } from '../testing/servers/test-server.ts';
import {
  countPerTurn,
  letServerWork,
  maxUnread,
  type WatchedServer,
  watchReplies,
} from '../testing/servers/watched-server.ts';

// A POST that changes nothing gets a long answer, and the client never reads it.

const remove = defineTool({
  ...{ name: 'remove', description: 'Removes', input: z.object({}) },
  execute: async () => 'Removed',
});
const operator = testToken('operator');
const json = { 'content-type': 'application/json' };
/** Eight texts of almost a megabyte. The buffers of a connection are smaller. */
const texts = Array.from({ length: 8 }, () => 'x'.repeat(2 ** 20 - 1000));
const replyBytes = 10 * 2 ** 20;

/** Serves an agent, with a token for this agent. `takeReads` returns the most reads of the log in one turn. */
async function serveAgent(script: readonly ScriptEntry[] = ['Fine.']) {
  const reads = countPerTurn();
  const log = new Proxy(memoryLog(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (name === 'read') reads.count();
        return Reflect.apply(value, target, args);
      };
    },
  });
  const { server } = await serveOpenAi(script, {
    ...{ log, server: { tokens: [operator], streamLimits: { stallTimeoutMs: 3_600_000 } } },
    agent: { tools: [remove], approve: () => 'ask' },
  });
  const watched = await watchReplies(server);
  const post = async (by: string, path: string, body: object, headers = {}) => {
    const reply = await fetch(watched.url + path, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { ...json, authorization: `Bearer ${by}`, ...headers },
    });
    return { status: reply.status, text: await reply.text() };
  };
  const issued = await post(operator, '/tokens', { agent_name: 'helper' });
  const { token } = JSON.parse(issued.text) as { readonly token: string };
  return { ...watched, token, post, takeReads: reads.take };
}

/** Sends a request many times without reading, and checks that the replies do not fill the memory. */
async function flood(
  { url, token, neverRead, mostUnread }: WatchedServer & { readonly token: string },
  request: { readonly path: string; readonly headers?: object; readonly body: object },
): Promise<void> {
  const authorization = `Bearer ${token}`;
  const sockets = Array.from({ length: 14 }, () =>
    neverRead({
      ...{ method: 'POST', path: request.path, body: JSON.stringify(request.body) },
      headers: { ...json, authorization, ...request.headers },
    }),
  );
  const read = async () => {
    const reply = await fetch(`${url}/agents/name/helper`, { headers: { authorization } });
    await reply.text();
    return reply.status;
  };
  await expect.poll(read, { timeout: 240_000 }).toBe(429);
  await letServerWork(url);
  expect(mostUnread()).toBeLessThan(maxUnread(replyBytes));
  for (const socket of sockets) socket.destroy();
  await expect.poll(read).toBe(200);
}

test('18.488: attack: requests without new input follow a long thread of AG-UI and never read', async () => {
  const served = await serveAgent();
  const path = '/agents/name/helper/ag-ui';
  const messages = texts.map((content, at) => ({ id: `m${at}`, role: 'user', content }));
  const first = await served.post(served.token, path, { threadId: 't', runId: 'r1', messages });
  expect(first.text).toContain('RUN_FINISHED');
  const body = { threadId: 't', runId: 'r2', messages: [{ ...messages.at(-1), content: 'x' }] };
  await flood(served, { path, body });
  const again = await served.post(served.token, path, body);
  expect([again.status, again.text.length > replyBytes / 2]).toEqual([200, true]);
  expect(again.text).toContain('RUN_FINISHED');
});

test('18.489: attack: requests for a long task of A2A over POST are never read', async () => {
  const served = await serveAgent();
  const path = '/agents/name/helper/a2a';
  const version = { 'a2a-version': '1.0' };
  const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: texts.map((text) => ({ text })) };
  const sent = await served.post(served.token, path, call('SendMessage', { message }), version);
  const { id } = JSON.parse(sent.text).result.task;
  const body = call('GetTask', { id, historyLength: 100 });
  served.takeReads();
  await flood(served, { path, headers: version, body });
  // Each request reads the message of the task. The server answers others in between.
  expect(served.takeReads()).toBeLessThan(7);
  const again = await served.post(served.token, path, body, version);
  expect([again.status, again.text.length > replyBytes / 2]).toEqual([200, true]);
});

test('18.489: attack: an answer that a long task already has is sent again and again, and never read', async () => {
  const served = await serveAgent([toolCall('remove', {}, 'c1'), 'Done.']);
  const path = '/agents/name/helper/a2a';
  const version = { 'a2a-version': '1.0' };
  const send = (message: object) => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
    params: { message, configuration: { historyLength: 1000 } },
  });
  const first = { messageId: 'm1', role: 'ROLE_USER', parts: texts.map((text) => ({ text })) };
  const sent = await served.post(served.token, path, send(first), version);
  const { id: taskId } = JSON.parse(sent.text).result.task;
  const answer = { messageId: 'm2', role: 'ROLE_USER', taskId, parts: [{ text: 'yes' }] };
  const answered = await served.post(served.token, path, send(answer), version);
  expect(answered.text).toContain('TASK_STATE_COMPLETED');
  await flood(served, { path, headers: version, body: send(answer) });
});
