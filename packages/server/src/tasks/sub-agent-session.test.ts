import { createAgent, subAgent } from '@millrace/agent';
import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';

const token = 'mr_0123456789abcdefghijklmnopqrstuvwxyz';
const asOperator = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

/** Serves a loop that has called a sub-agent. Returns the ids of both sessions. */
async function served() {
  const log = memoryLog();
  const helper = createAgent({ log, name: 'helper', provider: scriptedProvider(['It rains.']) });
  const call = toolCallPart(toolCallId('c1'), 'forecast', { task: 'Look outside' });
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'It will.']);
  const tools = [subAgent({ agent: helper, name: 'forecast', description: 'Looks outside' })];
  const agent = createAgent({ log, provider, tools });
  const server = createServer({
    tokens: [token],
    log,
    agents: [{ type: 'loop', name: 'weather', agent }],
  });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const request = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(path, url), { headers: asOperator, ...init });
    return { status: response.status, json: (await response.json()) as never };
  };
  const content = { type: 'text', author: 'user', content: 'Will it rain?' };
  const params = { task_name: 'rain', content };
  const body = JSON.stringify({ method: 'message/send', params });
  await request('/agents/name/weather/rpc', { method: 'POST', body });
  const { json } = await request('/tasks/name/rain');
  const { id: parent } = json as { readonly id: string };
  const { records } = await log.read(sessionId(parent), {});
  const starts = records.map(({ fact }) => fact?.type === 'tool_execution_started' && fact.child);
  const child = starts.find((id) => typeof id === 'string') || expect.fail('No sub-agent ran');
  return { url, request, parent, child };
}

test('22.9: the session of a sub-agent can be read, and not be changed', async () => {
  const { request, child } = await served();
  expect(await request(`/tasks/${child}?relationships=agents`)).toMatchObject({
    status: 200,
    json: { id: child, name: null, agents: [] },
  });
  const { status, json } = await request(`/tasks/${child}/records`);
  expect(status).toBe(200);
  expect(JSON.stringify(json)).toContain('Look outside');
  const command = JSON.stringify({
    type: 'message',
    content: { type: 'text', author: 'user', content: 'x' },
  });
  const changes = [
    [`/tasks/${child}/commands`, { method: 'POST', body: command }],
    [`/tasks/${child}/fork`, { method: 'POST' }],
    [`/tasks/${child}/interrupt`, { method: 'POST' }],
    [`/tasks/${child}`, { method: 'PUT', body: '{"task_metadata":{}}' }],
    [`/tasks/${child}`, { method: 'DELETE' }],
  ] as const;
  for (const [path, init] of changes) expect((await request(path, init)).status).toBe(404);
});

test('22.9: a stream shows the session of a sub-agent', async () => {
  const { url, child } = await served();
  const leaving = new AbortController();
  const { signal } = leaving;
  const response = await fetch(`${url}/tasks/${child}/stream?view=records`, {
    headers: asOperator,
    signal,
  });
  expect(response.status).toBe(200);
  let text = '';
  for await (const chunk of (response.body ?? expect.fail()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('It rains.')) break;
  }
  leaving.abort();
});

test('attack: other tokens, deleted tasks and unknown ids do not reach sessions without a task', async () => {
  const { request, parent, child } = await served();
  const scoped = await request('/tokens', {
    method: 'POST',
    body: JSON.stringify({ task_id: parent }),
  });
  const { token: limited } = scoped.json as { readonly token: string };
  const headers = { authorization: `Bearer ${limited}` };
  for (const path of [`/tasks/${child}`, `/tasks/${child}/records`, `/tasks/${child}/stream`])
    expect((await request(path, { headers })).status).toBe(404);
  await request(`/tasks/${parent}`, { method: 'DELETE' });
  for (const id of [parent, 'unknown']) expect((await request(`/tasks/${id}`)).status).toBe(404);
});
