import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId, toolCallPart } from '@millrace/core';
import type { Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { createProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { withMethods } from '../../../agent/src/testing/test-doubles.ts';
import type { TaskSummary } from '../contract/task.ts';
import { createServer } from '../create-server.ts';
import { sqliteRows } from '../rows/sqlite/index.ts';
import { withWorkStatus } from './work-status.ts';

const write = defineTool({
  name: 'write',
  description: 'Writes',
  input: z.object({}),
  execute: async () => 'Written',
});

/** Calls a tool that needs an approval, and then reports success. */
const caller = createProvider('caller', 'caller-1', (request, context) => {
  const isDone = request.items.at(-1)?.kind === 'tool';
  const call = toolCallPart(toolCallId('call'), 'write', {});
  const parts = isDone ? ['Done.'] : [call];
  return scriptedProvider([{ content: { parts } }]).stream(request, context);
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'work-status-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a server that stores its files in a folder. */
async function startServer(folder: string) {
  const log = sqliteLog({ path: join(folder, 'log.db') });
  const rows = sqliteRows({ path: join(folder, 'rows.db') });
  const agent = createAgent({
    ...{ log, provider: caller, tools: [write], approve: () => 'ask' as const },
    whileAsking: 'park',
  });
  const agents = [{ type: 'loop', name: 'asker', agent }] as const;
  const server = createServer({ tokens: 'none', agents, log, rows, secret: 'the same for all' });
  const { url } = await server.listen({ port: 0 });
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return (await response.json()) as { readonly result: { readonly id: string } };
  };
  const list = async (query = 'relationships=work'): Promise<readonly TaskSummary[]> =>
    (await fetch(`${url}/tasks?${query}`)).json() as Promise<readonly TaskSummary[]>;
  return {
    ...{ log, post, list },
    /** Creates a task with a message. Resolves when the answer is done or waiting for an approval. */
    async createWaitingTask() {
      const { result } = await post('/agents/name/asker/rpc', { method: 'task/create' });
      const content = { type: 'text', author: 'user', content: 'Write' };
      const params = { task_id: result.id, content };
      await post('/agents/name/asker/rpc', { method: 'message/send', params });
      return result.id;
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await Promise.all([log.close(), rows.close()]);
    },
  };
}

/** This limit only prevents a test from hanging. */
const longTimeout = { timeout: 60_000 };

const waiting = { is_at_work: true, awaits_approval: true };
const idle = { is_at_work: false, awaits_approval: false };

test('a list shows which tasks wait for an approval, on every server and after a restart', async () => {
  const folder = newFolder();
  const ids: string[] = [];
  {
    await using one = await startServer(folder);
    await using other = await startServer(folder);
    ids.push(await one.createWaitingTask());
    expect(await one.list()).toMatchObject([{ id: ids[0], ...waiting }]);
    expect(await other.list()).toMatchObject([{ id: ids[0], ...waiting }]);
    const [plain] = await one.list('');
    expect(plain).not.toHaveProperty('awaits_approval');
  }
  await using later = await startServer(folder);
  expect(await later.list()).toMatchObject([{ id: ids[0], ...waiting }]);
  await later.post(`/tasks/${ids[0]}/commands`, { type: 'approve', tool_call_id: 'call' });
  await expect.poll(() => later.list(), longTimeout).toMatchObject([{ id: ids[0], ...idle }]);
});

test('a task that is stopped does not wait for an approval any more', async () => {
  await using it = await startServer(newFolder());
  const id = await it.createWaitingTask();
  await it.post('/agents/name/asker/rpc', { method: 'task/cancel', params: { task_id: id } });
  await expect.poll(() => it.list(), longTimeout).toMatchObject([{ id, ...idle }]);
});

test('an unreadable log omits the status of its task only', async () => {
  await using it = await startServer(newFolder());
  const [broken, sound] = [await it.createWaitingTask(), await it.createWaitingTask()];
  const read: Log['read'] = (session, options) =>
    session === broken ? Promise.reject(new Error('broken')) : it.log.read(session, options);
  const log = withMethods(it.log, { read });
  const response = await withWorkStatus(await it.list(''), { log, clock: { now: () => 0 } });
  const statusById = new Map(response.map(({ id, ...work }) => [id, work]));
  expect(statusById.get(broken)).toMatchObject({ is_at_work: true, awaits_approval: undefined });
  expect(statusById.get(sound)).toMatchObject(waiting);
});

test('a status that takes too long is omitted', async () => {
  await using it = await startServer(newFolder());
  const ids = [];
  for (let count = 0; count < 8; count++) ids.push(await it.createWaitingTask());
  let now = 0;
  const read: Log['read'] = (session, options) => {
    now += 1000;
    return it.log.read(session, options);
  };
  const log = withMethods(it.log, { read });
  const response = await withWorkStatus(await it.list(''), { log, clock: { now: () => now } });
  const known = response.filter(({ awaits_approval }) => awaits_approval !== undefined);
  expect(response.every(({ is_at_work }) => is_at_work)).toBe(true);
  expect(known.length).toBeGreaterThan(0);
  expect(known.length).toBeLessThan(ids.length);
});
