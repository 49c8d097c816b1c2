import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Update } from '../../contract/message.ts';
import { ServerError } from '../../contract/server-error.ts';
import { startTestServer, type TestServer } from '../../testing/servers/test-server.ts';

const rpc = '/agents/name/echo/rpc';
const hello = { type: 'text', author: 'user', content: 'hello' } as const;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const call = (body: unknown) => server.request(rpc, { body });

describe('each standard error of JSON-RPC', () => {
  const request = { jsonrpc: '2.0', id: 'r1', method: 'task/create', params: {} };
  test.each([
    ['invalid JSON', '{"jsonrpc":', -32_700, null],
    ['nothing', ' ', -32_700, null],
    ['10,000 deep', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, -32_700, null],
    ['a batch', [request, request], -32_600, null],
    ['an empty batch', [], -32_600, null],
    ['a text', '"task/create"', -32_600, null],
    ['null', 'null', -32_600, null],
    ['another version', { ...request, jsonrpc: '1.0' }, -32_600, 'r1'],
    ['no method', { jsonrpc: '2.0', id: 7 }, -32_600, 7],
    ['a method that is not a string', { ...request, method: 1 }, -32_600, 'r1'],
    ['an id that is an object', { ...request, id: { a: 1 } }, -32_600, null],
    ['an id that is a fraction', { ...request, id: 1.5 }, -32_600, null],
    ['an unknown method', { ...request, method: 'task/explode' }, -32_601, 'r1'],
    ['a method name from Object.prototype', { ...request, method: 'constructor' }, -32_601, 'r1'],
    ['params by position', { ...request, params: ['a'] }, -32_602, 'r1'],
    ['params that are a number', { ...request, params: 3 }, -32_602, 'r1'],
    ['params of another type', { ...request, params: { name: 3 } }, -32_602, 'r1'],
    ['no content', { ...request, method: 'message/send' }, -32_602, 'r1'],
    [
      'content without a type',
      { ...request, method: 'message/send', params: { content: { author: 'user' } } },
      -32_602,
      'r1',
    ],
    [
      'a task by id and by name',
      {
        ...request,
        method: 'message/send',
        params: { content: hello, task_id: 'a', task_name: 'b' },
      },
      -32_602,
      'r1',
    ],
    ['no task', { ...request, method: 'task/cancel' }, -32_602, 'r1'],
  ])('%s', async (_what, body, code, id) => {
    const { status, json } = await call(body);
    expect(status).toBe(200);
    expect(json).toMatchObject({ jsonrpc: '2.0', result: null, error: { code }, id });
    expect(json.error.message).not.toBe('');
  });

  test('-32603 if the state of the task does not allow it, with an error code', async () => {
    const { json: created } = await call({ ...request, params: { name: 'closed' } });
    const of = { task_id: created.result.id };
    await call({ ...request, method: 'task/cancel', params: of });
    const send = { ...request, method: 'message/send', params: { ...of, content: hello } };
    const { status, json } = await call(send);
    expect([status, json.error.code, json.error.data.code]).toEqual([200, -32_603, 'bad_state']);
  });

  test('-32603 without details for an unexpected error', async () => {
    await using broken = await startTestServer({
      // biome-ignore lint/correctness/useYield: it throws before
      answer: async function* () {
        throw new Error('the password is swordfish');
      },
    });
    const send = { ...request, method: 'message/send', params: { content: hello } };
    const { json, text } = await broken.request(rpc, { body: send });
    expect(json.error.code).toBe(-32_603);
    expect(text).not.toContain('swordfish');
  });
});

describe('a request', () => {
  test.each([['r1'], [0], [-7], [''], [null]])('gets an answer with its id %j', async (id) => {
    const { json } = await call({ jsonrpc: '2.0', id, method: 'task/create', params: {} });
    expect(json).toMatchObject({ id, error: null, result: { status: 'RUNNING' } });
  });

  test('without id and version gets an answer with id null, as in Agentex', async () => {
    const { status, json } = await call({ method: 'task/create' });
    expect([status, json.id, json.error]).toEqual([200, null, null]);
  });

  test('with a version and without an id is a notification: it runs and gets no answer', async () => {
    const params = { name: 'by a notification' };
    const { status, text } = await call({ jsonrpc: '2.0', method: 'task/create', params });
    expect([status, text]).toEqual([204, '']);
    const { json } = await server.request('/tasks/name/by%20a%20notification');
    expect(json.status).toBe('RUNNING');
    const wrong = await call({ jsonrpc: '2.0', method: 'no/such' });
    expect([wrong.status, wrong.text]).toEqual([204, '']);
  });

  test('to an unknown agent or task gets 404, so that no client takes it for an answer', async () => {
    const body = { id: 1, method: 'task/cancel', params: { task_id: 'unknown' } };
    for (const path of [rpc, '/agents/unknown/rpc', '/agents/name/unknown/rpc']) {
      const { status, json } = await server.request(path, { body });
      expect([path, status, json.code, json.data]).toEqual([path, 404, 404, null]);
    }
  });

  test('gets an answer in one line, for line-based readers', async () => {
    const { text } = await call({ id: 1, method: 'message/send', params: { content: hello } });
    expect(text).not.toContain('\n');
    expect(JSON.parse(text).result[0].content.content).toBe('hello');
  });
});

describe('message/send with stream', () => {
  const send = (at: TestServer, accept: string) =>
    fetch(new URL(rpc, at.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify({
        id: 's1',
        method: 'message/send',
        params: { content: hello, stream: true },
      }),
    });
  const linesOf = async (response: Response) =>
    (await response.text())
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const delta = (text: string): Update => ({
    type: 'delta',
    index: 0,
    parent_task_message: null,
    delta: { type: 'text', text_delta: text },
  });

  test.each([['application/json'], ['text/event-stream'], ['application/x-ndjson'], ['*/*']])(
    'is NDJSON for any accept header: %s',
    async (accept) => {
      const response = await send(server, accept);
      expect(response.headers.get('content-type')).toBe('application/x-ndjson');
      expect(await linesOf(response)).toMatchObject([
        { jsonrpc: '2.0', id: 's1', error: null, result: { type: 'full' } },
      ]);
    },
  );

  test('sends each update at once, before the next one exists', async () => {
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
    await using at = await startTestServer({
      answer: async function* () {
        yield delta('one');
        await isRead;
        yield delta('two');
      },
    });
    const response = await send(at, '*/*');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('one');
    read();
    expect((await reader?.read())?.value).toContain('two');
    expect((await reader?.read())?.done).toBe(true);
  });

  test('ends with an error as its last line', async () => {
    await using at = await startTestServer({
      answer: async function* () {
        yield delta('one');
        throw new ServerError('agent_failed', 'Cannot go on: the agent threw');
      },
    });
    const lines = await linesOf(await send(at, '*/*'));
    expect(lines).toMatchObject([
      { result: { type: 'delta' }, error: null, id: 's1' },
      { result: null, error: { code: -32_603, data: { code: 'agent_failed' } }, id: 's1' },
    ]);
  });

  test('ends with an error line when the server closes', async () => {
    const at = await startTestServer({
      answer: async function* () {
        yield delta('one');
        await new Promise(() => {});
      },
    });
    const response = await send(at, '*/*');
    const reading = linesOf(response);
    await at[Symbol.asyncDispose]();
    expect(await reading).toMatchObject([
      { result: { type: 'delta' } },
      { result: null, error: { data: { code: 'unavailable' } } },
    ]);
  });

  test('waits for a slow reader, and ends when it disconnects', async () => {
    let sent = 0;
    const { promise: isOver, resolve: over } = Promise.withResolvers<void>();
    await using at = await startTestServer({
      answer: async function* () {
        try {
          for (; sent < 10_000; sent++) yield delta('x'.repeat(10_000));
        } finally {
          over();
        }
      },
    });
    const response = await send(at, '*/*');
    await response.body?.cancel();
    await isOver;
    expect(sent).toBeLessThan(10_000);
  });
});
