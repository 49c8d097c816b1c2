import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { agentText } from '../testing/servers/task-harness.ts';
import { SseReader } from '../testing/sse-reader.ts';

async function startServer() {
  const [log, rows] = [memoryLog(), memoryRows()];
  const server = createServer({
    tokens: 'none',
    ...{ log, rows, limits: { closeTimeoutMs: 200 } },
    agents: [{ type: 'sync', name: 'helper', onMessage: async () => agentText('Hello') }],
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const rpc = async (method: string, params: object) => {
    const response = await fetch(`${url}/agents/name/helper/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as { result: { id: string } };
  };
  const { result: task } = await rpc('task/create', {});
  const content = { type: 'text', author: 'user', content: 'Hi' };
  const send = () => rpc('message/send', { task_id: task.id, content });
  const port = Number(new URL(url).port);
  const get = (query: string, lastEventId?: string) =>
    new SseReader({ port, path: `/tasks/${task.id}/stream?${query}`, lastEventId });
  return { log, id: task.id, send, get };
}

test('the last-event-id header takes precedence over the query', async () => {
  const { get, send } = await startServer();
  await send();
  const all = get('view=events&from=0');
  await all.waitUntil(({ text }) => text.includes('run_finished'));
  all.disconnect();
  const ids = all.messages.flatMap(({ id }) => id ?? []);
  const middle = ids[Math.floor(ids.length / 2)] ?? expect.fail();
  const resumed = get('view=events&from=0', middle);
  await resumed.waitUntil(({ text }) => text.includes('run_finished'));
  resumed.disconnect();
  const tail = all.messages.slice(all.messages.findIndex(({ id }) => id === middle) + 1);
  const resumedMessages = resumed.messages.filter(({ event }) => event === 'message');
  expect(resumedMessages).toEqual(tail.filter(({ event }) => event === 'message'));
});

test('an invalid stream request gets a JSON error', async () => {
  const { get } = await startServer();
  for (const [reader, status] of [
    [get('from=x'), 422],
    [get('from=0', 'x'), 422],
    [get('from=100000'), 410],
    [get('view=films'), 422],
  ] as const) {
    await reader.waitForEnd();
    expect(reader.status).toBe(status);
    expect(reader.headers['content-type']).toMatch(/^application\/json/);
    expect(JSON.parse(reader.text)).toHaveProperty('message');
  }
});

test.each(['updates', 'events', 'records'])(
  'a task whose log was lost is streamed as %s, like a new task',
  async (view) => {
    const { get, send, log, id } = await startServer();
    await log.delete(sessionId(id));
    const reader = get(`view=${view}`);
    await reader.waitUntil(({ status }) => status !== undefined);
    expect(reader.status).toBe(200);
    await send();
    await reader.waitUntil(({ text }) => text.includes('Hello'));
    expect(reader.text).toContain('Hello');
    reader.disconnect();
  },
);
