import { expect, onTestFinished, test } from 'vitest';
import { ScopeServer } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A client with a token for one agent uses up a limit that applies to the whole server.

test('18.174: attack: one agent opens all streams that the server allows', async () => {
  const server = await ScopeServer.start({ streamLimits: { maxTasks: 8 } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { id: agent } = await server.asOperator('GET', '/agents/name/own');
  const created = Array.from({ length: 10 }, async (_, at) => {
    const create = { method: 'task/create', params: { name: `task ${at}` } };
    const { result } = await server.asOperator('POST', `/agents/${agent}/rpc`, create);
    return result.id as string;
  });
  const tasks = await Promise.all(created);
  const [first, second] = [
    await server.createToken({ agent_id: agent }),
    await server.createToken({ agent_id: agent }),
  ];
  const open = async (token: string, task: string | undefined) => {
    const response = await fetch(new URL(`/tasks/${task}/stream`, server.url), {
      headers: { authorization: `Bearer ${token}` },
    });
    // The garbage collector closes the stream of a response that nothing refers to.
    onTestFinished(() => response.body?.cancel());
    return response.status;
  };
  // A second token of the same agent does not double its share.
  expect(await open(first, tasks[0])).toBe(200);
  expect(await open(second, tasks[1])).toBe(200);
  expect(await open(first, tasks[0])).toBe(200);
  expect(await open(first, tasks[2])).toBe(503);
  expect(await open(second, tasks[3])).toBe(503);
  for (const task of tasks.slice(4, 10)) expect(await open(testToken('operator'), task)).toBe(200);
  // The agent can follow a task that is streamed already.
  expect(await open(first, tasks[4])).toBe(200);
});

test('18.174: attack: one agent occupies all uploads that the server allows', async () => {
  const server = await ScopeServer.start({ limits: { maxUploads: 8, requestTimeoutMs: 600_000 } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const own = await server.createData('own');
  const token = await server.createToken({ agent_id: own.agent_id });
  const upload = (by: string, isEndless: boolean) => {
    const aborting = new AbortController();
    onTestFinished(() => aborting.abort());
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array([1]));
        if (!isEndless) controller.close();
      },
    });
    const url = new URL(`/tasks/${own.task_id}/files?name=a`, server.url);
    const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/octet-stream' };
    const options = { method: 'POST', headers, body, duplex: 'half', signal: aborting.signal };
    return fetch(url, options as RequestInit).then(
      ({ status }) => status,
      () => 0,
    );
  };
  const statuses: number[] = [];
  for (let at = 0; at < 10; at++) void upload(token, true).then((one) => statuses.push(one));
  // Two uploads of the agent wait for their ends, and the others are refused.
  await expect.poll(() => statuses).toEqual(Array.from({ length: 8 }, () => 429));
  expect(await upload(testToken('operator'), false)).toBeLessThan(300);
});
