import { countingIds, DeltaWriter, itemId, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { Update } from './contract/message.ts';
import type { ServedAgent } from './contract/served-agent.ts';
import { createServer, type Server, type ServerOptions } from './create-server.ts';
import { createToken } from './http/access/token-store.ts';
import { memoryRows } from './rows/memory-rows.ts';

const greeter: ServedAgent = {
  type: 'sync',
  name: 'greeter',
  async *onMessage() {
    yield { type: 'start', index: 0, content: { type: 'text', author: 'agent', content: '' } };
    for (const text of ['Hel', 'lo']) {
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta: text } };
    }
    yield { type: 'done', index: 0 };
  },
};

const listener: ServedAgent = {
  type: 'async',
  name: 'listener',
  async onEvent({ content }, { messages }) {
    if (content !== null) await messages.create({ ...content, author: 'user' });
  },
};

const hello = { type: 'text', author: 'user', content: 'hello' } as const;

class Started implements AsyncDisposable {
  readonly #server: Server;
  readonly url: string;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(options: Partial<ServerOptions> = {}): Promise<Started> {
    const server = createServer({ tokens: 'none', agents: [greeter, listener], ...options });
    const { url } = await server.listen({ port: 0 });
    return new Started(server, url);
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
  async rpc(agent: string, method: string, params: object, key?: string): Promise<any> {
    const response = await fetch(new URL(`/agents/name/${agent}/rpc`, this.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const text = await response.text();
    const isLines = response.headers.get('content-type') === 'application/x-ndjson';
    return isLines
      ? text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
      : JSON.parse(text);
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
  async get(path: string): Promise<any> {
    return (await fetch(new URL(path, this.url))).json();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.close();
  }
}

describe('a server with its agents', () => {
  test('accepts a task and a message once per idempotency-key, and returns the same answer again', async () => {
    await using server = await Started.start();
    const create = async (key: string) =>
      (await server.rpc('greeter', 'task/create', {}, key)).result;
    const task = await create('a');
    expect([(await create('a')).id, (await create('b')).id === task.id]).toEqual([task.id, false]);
    const content = { type: 'text', author: 'user', content: 'Ada' };
    const send = (params: object, key: string) =>
      server.rpc('greeter', 'message/send', { task_id: task.id, content, ...params }, key);
    const { result } = await send({}, 'a');
    expect((await send({}, 'a')).result).toEqual(result);
    const lines = await send({ stream: true }, 'a');
    expect(lines.at(-1).result.parent_task_message.id).toBe(result.at(-1).id);
    expect((await send({}, 'b')).result).not.toEqual(result);
    const users = (await server.get(`/messages?task_id=${task.id}`)).filter(
      (message: { content: { author: string } }) => message.content.author === 'user',
    );
    expect(users).toHaveLength(2);
    expect((await send({}, 'a key with spaces')).error.message).toContain('idempotency-key');
  });

  test('answers a message, streamed and at once, and stores it', async () => {
    await using server = await Started.start();
    const { result: task } = await server.rpc('greeter', 'task/create', { name: 'talk' });
    const params = { task_id: task.id, content: hello };
    const lines = await server.rpc('greeter', 'message/send', { ...params, stream: true });
    const updates = lines.map(({ result }: { result: Update }) => result) as readonly Update[];
    expect(updates.map(({ type }) => type)).toEqual(expect.arrayContaining(['start', 'done']));
    // Deltas that arrive together are sent together.
    const deltas = updates.flatMap((update) => (update.type === 'delta' ? [update.delta] : []));
    expect(deltas.map((delta) => delta?.type === 'text' && delta.text_delta).join('')).toBe(
      'Hello',
    );
    const { result: replies } = await server.rpc('greeter', 'message/send', params);
    expect(replies).toMatchObject([{ content: { content: 'Hello' }, streaming_status: 'DONE' }]);
    const messages = await server.get(`/messages?task_id=${task.id}&order_direction=asc`);
    const texts = messages.map(({ content }: { content: { content: string } }) => content.content);
    expect(texts).toEqual(['hello', 'Hello', 'hello', 'Hello']);
    expect(await server.get('/tasks/name/talk?relationships=agents')).toMatchObject({
      id: task.id,
      agents: [{ name: 'greeter' }],
    });
  });

  test('accepts an event once per key', async () => {
    await using server = await Started.start();
    const { result: task } = await server.rpc('listener', 'task/create', {});
    const send = () =>
      server.rpc('listener', 'event/send', { task_id: task.id, content: hello }, 'a-key');
    const sent = await send();
    expect((await send()).result).toMatchObject({
      id: sent.result.id,
      sequence_id: sent.result.sequence_id,
    });
    expect(sent).toMatchObject({ error: null, result: { task_id: task.id, content: hello } });
    expect(await server.get(`/events/${encodeURIComponent(sent.result.id)}`)).toEqual(sent.result);
  });

  test.each([['updates'], ['events'], ['records']])(
    'streams a task without records as %s',
    async (view) => {
      await using server = await Started.start();
      const { result: task } = await server.rpc('greeter', 'task/create', {});
      const response = await fetch(new URL(`/tasks/${task.id}/stream?view=${view}`, server.url));
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      await server.rpc('greeter', 'message/send', { task_id: task.id, content: hello });
      let streamed = '';
      while (!streamed.includes('Hel')) streamed += (await reader?.read())?.value ?? '';
      await reader?.cancel();
      expect(streamed).toContain('id: ');
    },
  );

  test('does not close stores that it was given, and continues with them', async () => {
    const [log, rows] = [memoryLog(), memoryRows()];
    const first = await Started.start({ log, rows });
    const { result: task } = await first.rpc('greeter', 'task/create', { name: 'kept' });
    await first[Symbol.asyncDispose]();
    await using second = await Started.start({ log, rows });
    expect(await second.get('/tasks/name/kept')).toMatchObject({ id: task.id });
  });

  test('lists each task once, page by page, by cursor', async () => {
    await using server = await Started.start();
    const created: string[] = [];
    for (let n = 0; n < 7; n++)
      created.push((await server.rpc('greeter', 'task/create', {})).result.id);
    const found: string[] = [];
    let cursor: string | null = '';
    for (let pages = 0; cursor !== null && pages < 10; pages++) {
      const path: string = `/tasks?limit=3&order_by=created_at&cursor=${cursor}`;
      const response: Response = await fetch(new URL(path, server.url));
      const page = (await response.json()) as readonly { readonly id: string }[];
      found.push(...page.map(({ id }) => id));
      cursor = response.headers.get('x-next-cursor');
    }
    expect(found.toSorted()).toEqual(created.toSorted());
    expect((await fetch(new URL('/tasks?cursor=x', server.url))).status).toBe(422);
  });

  test('stores __proto__ in params as data', async () => {
    await using server = await Started.start();
    const params = JSON.parse('{"__proto__":{"isAdmin":true},"constructor":1}');
    const { result } = await server.rpc('greeter', 'task/create', { params });
    const { params: stored } = await server.get(`/tasks/${result.id}`);
    expect(JSON.stringify(stored)).toBe(JSON.stringify(params));
  });

  test('gives a remote agent a key that reaches only its own tasks', async () => {
    const token = createToken();
    await using server = await Started.start({ tokens: [token] });
    const operator = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const post = (path: string, body: object, headers: Record<string, string> = operator) =>
      fetch(new URL(path, server.url), { method: 'POST', headers, body: JSON.stringify(body) });
    const streamed = async (path: string, body: object) =>
      (await (await post(path, body)).json()) as { agent_api_key: string; result: { id: string } };
    const create = { method: 'task/create', params: {} };
    const agent = { description: '', acp_url: 'http://127.0.0.1:1', acp_type: 'sync' };
    const registered = await streamed('/agents/register', { name: 'far', ...agent });
    const { result: own } = await streamed('/agents/name/far/rpc', create);
    const { result: others } = await streamed('/agents/name/greeter/rpc', create);
    const key = { 'x-agent-api-key': registered.agent_api_key, 'content-type': 'application/json' };
    const content = { type: 'text', author: 'agent', content: 'written from afar' };
    expect((await post('/messages', { task_id: own.id, content }, key)).status).toBe(200);
    expect((await post('/messages', { task_id: others.id, content }, key)).status).toBe(404);
    expect((await post('/agents/register', { name: 'greeter', ...agent }, key)).status).toBe(403);
  });
});

describe('blobs', () => {
  async function withBlob(mimeType: string, taskId: string, server: Started, log: Log) {
    const { hash } = await log.blobs.put(Buffer.from('<script>alert(1)</script>'));
    const driver = await log.open(sessionId(taskId), { takeOver: true });
    const item = itemId('picture');
    const at = { turn: 0, attempt: 0 };
    const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
    const source = { type: 'blob', hash, length: 25 } as const;
    writer.whole({ kind: 'media', mimeType, source });
    await driver.append([
      { ...at, fact: { type: 'item_started', itemId: item, kind: 'user' } },
      ...writer.take().map((delta) => ({ ...at, delta })),
      { ...at, fact: { type: 'item_finished', itemId: item } },
    ]);
    await driver.release();
    return fetch(new URL(`/tasks/${taskId}/blobs/${hash}`, server.url));
  }

  test.each([
    ['image/png', 'image/png', 'inline'],
    ['image/svg+xml', 'application/octet-stream', 'attachment'],
    ['text/html', 'application/octet-stream', 'attachment'],
  ])('of type %s are sent as %s', async (mimeType, type, disposition) => {
    const log = memoryLog();
    await using server = await Started.start({ log });
    const { result: task } = await server.rpc('greeter', 'task/create', {});
    const { result: other } = await server.rpc('greeter', 'task/create', {});
    const response = await withBlob(mimeType, task.id, server, log);
    expect([response.status, await response.text()]).toEqual([200, '<script>alert(1)</script>']);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('content-disposition')).toBe(disposition);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toContain('sandbox');
    // Requests the same blob through a task that does not reference it.
    const elsewhere = response.url.replace(task.id, other.id);
    expect((await fetch(elsewhere)).status).toBe(404);
  });
});

describe('unknown options', () => {
  const create = (options: object) =>
    createServer({ agents: [greeter], tokens: 'none', ...options } as ServerOptions);

  test.each<[string, object]>([
    ['limits', { limits: { maxBodyByte: 1 } }],
    ['streamLimits', { streamLimits: { heartbeat: 1 } }],
    ['requestLog', { requestLog: { format: 'text', write: () => {}, level: 'info' } }],
  ])('of %s are refused', (name, options) => {
    const refusal = { code: 'invalid', message: expect.stringContaining(`createServer: ${name}`) };
    expect(() => create(options)).toThrow(expect.objectContaining(refusal));
  });

  test('of listen and handler are refused', async () => {
    const server = create({});
    await expect(server.listen({ prot: 0 } as object)).rejects.toThrow('Did you mean port?');
    expect(() => server.handler({ basepath: '/a' } as object)).toThrow('Did you mean basePath?');
    await server.close();
  });
});
