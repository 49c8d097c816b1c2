import { type Agent, createAgent, subAgent } from '@millrace/agent';
import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';

const token = 'mr_0123456789abcdefghijklmnopqrstuvwxyz';
const asOperator = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

/** Creates an agent that gives its task on to another agent. */
function leadOf(log: Log, helper: Agent): Agent {
  const call = toolCallPart(toolCallId('c2'), 'look', { task: 'Look outside' });
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'It rains.']);
  const tools = [subAgent({ agent: helper, name: 'look', description: 'Looks' })];
  return createAgent({ log, name: 'lead', provider, tools });
}

async function childOf(log: Log, session: string): Promise<string> {
  const { records } = await log.read(sessionId(session), {});
  const starts = records.map(({ fact }) => fact?.type === 'tool_execution_started' && fact.child);
  return starts.find((id) => typeof id === 'string') || expect.fail('No sub-agent ran');
}

/** Serves a loop that has called a sub-agent, which has called another one. Returns their sessions. */
async function served() {
  const log = memoryLog();
  const helper = createAgent({ log, name: 'helper', provider: scriptedProvider(['It rains.']) });
  const lead = leadOf(log, helper);
  const call = toolCallPart(toolCallId('c1'), 'forecast', { task: 'Look outside' });
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'It will.']);
  const tools = [subAgent({ agent: lead, name: 'forecast', description: 'Looks outside' })];
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
  const child = await childOf(log, parent);
  return { url, request, parent, child, grandchild: await childOf(log, child) };
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

test('22.sub-agents: a reader of a task can read its sub-agents at any depth through the task', async () => {
  const { request, url, parent, child, grandchild } = await served();
  const scoped = await request('/tokens', {
    method: 'POST',
    body: JSON.stringify({ task_id: parent, read_only: true }),
  });
  const { token: limited } = scoped.json as { readonly token: string };
  const headers = { authorization: `Bearer ${limited}` };
  for (const id of [child, grandchild]) {
    const path = `/tasks/${parent}/sub-agents/${id}`;
    const { status, json } = await request(`${path}/records`, { headers });
    expect(status).toBe(200);
    expect(JSON.stringify(json)).toContain('Look outside');
    const leaving = new AbortController();
    const stream = await fetch(`${url}${path}/stream?view=records`, {
      headers,
      signal: leaving.signal,
    });
    expect([stream.status, stream.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/event-stream'),
    ]);
    leaving.abort();
    const blob = await request(`${path}/blobs/${'0'.repeat(64)}`, { headers });
    expect(blob.status).toBe(404);
  }
});

test('attack: a task gives no access to sessions that are not of its sub-agents', async () => {
  const { request, parent, child, grandchild } = await served();
  const other = await request('/agents/name/weather/rpc', {
    method: 'POST',
    body: JSON.stringify({ method: 'task/create', params: { name: 'other' } }),
  });
  const { result } = other.json as { readonly result: { readonly id: string } };
  const scoped = await request('/tokens', {
    method: 'POST',
    body: JSON.stringify({ task_id: result.id }),
  });
  const { token: limited } = scoped.json as { readonly token: string };
  const headers = { authorization: `Bearer ${limited}` };
  const missing = await request(`/tasks/${result.id}/sub-agents/unknown/records`, { headers });
  expect(missing.status).toBe(404);
  for (const session of [parent, child, grandchild, result.id, 'unknown'])
    for (const task of [result.id, parent])
      for (const route of ['records', 'stream', `blobs/${'0'.repeat(64)}`]) {
        const path = `/tasks/${task}/sub-agents/${session}/${route}`;
        const { status, json } = await request(path, { headers });
        expect([path, status]).toEqual([path, 404]);
        expect(JSON.stringify(json)).not.toContain('rain');
      }
  // An operator gets a task as a task, and not as a sub-agent of another one.
  expect((await request(`/tasks/${parent}/sub-agents/${result.id}/records`)).status).toBe(404);
  await request(`/tasks/${parent}`, { method: 'DELETE' });
  expect((await request(`/tasks/${parent}/sub-agents/${child}/records`)).status).toBe(404);
});
