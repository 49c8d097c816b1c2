import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { memoryRows } from '../../../rows/memory-rows.ts';
import { a2aBindings, a2aClient, sent, transcriptOf } from '../../../testing/a2a/a2a-client.ts';
import { serveOpenAi } from '../../../testing/openai-client.ts';

/** Serves an agent whose notifications can reach this machine. */
const serve: typeof serveOpenAi = (script, options = {}) =>
  serveOpenAi(script, {
    ...options,
    server: { a2a: { pushNetworks: ['public', 'loopback'] }, ...options.server },
  });

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly state: string;
  readonly taskId: string;
}

/** Serves an address that receives notifications. The first requests get the given statuses. */
async function serveHook(...statuses: number[]) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += String(piece);
    const { statusUpdate } = JSON.parse(text);
    const { taskId, status } = statusUpdate;
    const code = statuses.shift() ?? 204;
    if (code === 204) received.push({ headers: request.headers, state: status.state, taskId });
    response.writeHead(code, { location: 'http://127.0.0.1:1/' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook?x=1`, received };
}

const states = (received: readonly Received[]) => received.map(({ state }) => state);
const config = (url: string, more: object = {}) => ({
  ...{ tenant: '', id: '', taskId: '', url, token: '', authentication: undefined, ...more },
});
const withHook = (text: string, url: string, more: object = {}) => {
  const { configuration, ...request } = sent(text, { contextId: 'talk' });
  const taskPushNotificationConfig = config(url, more);
  return { ...request, configuration: { ...configuration, taskPushNotificationConfig } } as never;
};
const remove = defineTool({
  ...{ name: 'remove', description: 'Removes', input: z.object({}) },
  execute: async () => 'Removed',
});

test.each(a2aBindings)(
  '24.5: the address of a message receives each status, with its credentials (%s)',
  async (binding) => {
    const { url } = await serve([toolCall('remove', {}, 'c1'), 'Done.'], {
      agent: { tools: [remove], approve: () => 'ask' },
    });
    const hook = await serveHook(500);
    const client = await a2aClient(url, { binding });
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    const task = transcriptOf(
      await client.sendMessage(withHook('Go', hook.url, { token: 't1', authentication })),
    );
    await expect
      .poll(() => states(hook.received))
      .toEqual(['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED']);
    await client.sendMessage(sent('yes', { taskId: task.id }));
    await expect
      .poll(() => states(hook.received).slice(2))
      .toEqual(['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
    expect(hook.received[0]).toMatchObject({
      taskId: task.id,
      headers: { authorization: 'Bearer secret', 'x-a2a-notification-token': 't1' },
    });
    // The configuration ends with its task.
    const list = () => client.listTaskPushNotificationConfig({ taskId: task.id } as never);
    await expect.poll(async () => (await list()).configs).toEqual([]);
  },
);

test.each(a2aBindings)(
  '24.5: configurations are stored, read and deleted (%s)',
  async (binding) => {
    const { url } = await serve(['Done.']);
    const client = await a2aClient(url, { binding });
    const { id: taskId } = transcriptOf(await client.sendMessage(sent('Go')));
    const authentication = { scheme: 'Basic', credentials: 'secret' };
    const hook = await serveHook();
    const made = await client.createTaskPushNotificationConfig(
      config(hook.url, { taskId, id: 'c', authentication }),
    );
    expect(made).toMatchObject({
      id: 'c',
      taskId,
      url: hook.url,
      authentication: { scheme: 'Basic' },
    });
    const ref = { tenant: '', taskId, id: 'c' };
    const read = await client.getTaskPushNotificationConfig(ref);
    expect([read, JSON.stringify(read)]).toEqual([made, expect.not.stringContaining('secret')]);
    const other = await client.createTaskPushNotificationConfig(config(hook.url, { taskId }));
    const listed = await client.listTaskPushNotificationConfig({ taskId } as never);
    expect(listed.configs.map(({ id }) => id).toSorted()).toEqual(['c', other.id].toSorted());
    await client.deleteTaskPushNotificationConfig(ref);
    await client.deleteTaskPushNotificationConfig(ref);
    await expect(client.getTaskPushNotificationConfig(ref)).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
    await expect(
      client.createTaskPushNotificationConfig(config(hook.url, { taskId: 'unknown' })),
    ).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    for (let more = 1; more < 10; more++)
      await client.createTaskPushNotificationConfig(config(hook.url, { taskId }));
    await expect(
      client.createTaskPushNotificationConfig(config(hook.url, { taskId })),
    ).rejects.toThrow(/more than 10/);
  },
);

test.each([
  ['a metadata service', 'http://169.254.169.254/latest', undefined],
  ['the name of a metadata service', 'http://metadata.google.internal/', undefined],
  ['this machine, if it is not allowed', 'http://127.0.0.1:1/', {}],
  ['a private network', 'http://10.0.0.1/', undefined],
  ['a file', 'file:///etc/passwd', undefined],
  ['a user', 'http://user:pass@example.com/', undefined],
  ['no URL', 'hook', undefined],
])('24.5: attack: a configuration with %s is refused', async (_, target, a2a) => {
  const { url } = await serve(['Done.'], { server: { ...(a2a && { a2a }) } });
  const client = await a2aClient(url);
  const { id: taskId } = transcriptOf(await client.sendMessage(sent('Go')));
  await expect(client.createTaskPushNotificationConfig(config(target, { taskId }))).rejects.toThrow(
    /Cannot use url/,
  );
});

test('24.5: a redirect of the address is not followed', async () => {
  const { url } = await serve(['Done.']);
  const hook = await serveHook(302, 302, 302);
  const client = await a2aClient(url);
  await client.sendMessage(withHook('Go', hook.url));
  await expect
    .poll(() => states(hook.received), { timeout: 20_000 })
    .toEqual(['TASK_STATE_COMPLETED']);
});

test('24.5: a server that restarts sends what is left', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const hook = await serveHook();
  const { url } = await serve(['Done.'], { server: { rows }, log });
  const client = await a2aClient(url);
  const { id: taskId } = transcriptOf(await client.sendMessage(sent('Go')));
  await client.createTaskPushNotificationConfig(config(hook.url, { taskId }));
  expect(hook.received).toEqual([]);
  // The process died before it sent the last status.
  const [row = expect.fail()] = await rows.list('webhooks', {});
  await rows.put('webhooks', { ...row, data: { ...row.data, sent: 'TASK_STATE_WORKING' } });
  await serve(['Unused.'], { server: { rows }, log });
  await expect.poll(() => states(hook.received)).toEqual(['TASK_STATE_COMPLETED']);
  await expect.poll(() => rows.list('webhooks', {})).toEqual([]);
});
