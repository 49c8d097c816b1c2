import { TestClock } from '@millrace/log/suite';
import { describe, expect, test } from 'vitest';
import { createClient } from '../create-client.ts';
import { type FakeRequest, FakeServer } from '../testing/fake-server.ts';
import { settled } from '../testing/settled.ts';

function stage() {
  const server = new FakeServer();
  const clock = new TestClock();
  const client = createClient({
    ...{ url: 'http://server.test', fetch: server.fetch, clock, random: () => 1 },
  });
  return { server, clock, client };
}

const row = (kind: string) => ({
  id: 't',
  agents: [{ name: 'a', acp_type: 'sync', registration_metadata: { kind } }],
});

describe('a command', () => {
  test('is sent again under the same key until it is answered', async () => {
    const { server, clock, client } = stage();
    const approved = client.task('t').approve('c1', { by: 'Ada', until: 'session' });
    const keys: (string | null)[] = [];
    for (let tries = 0; tries < 4; tries++) {
      const request = await server.next();
      keys.push(request.headers.get('idempotency-key'));
      expect(JSON.parse(String(request.init.body))).toEqual({
        ...{ type: 'approve', tool_call_id: 'c1', by: 'Ada', until: 'session' },
      });
      if (tries === 0) request.break();
      if (tries === 1) request.json({ message: 'Closing' }, 503, { 'retry-after': '4' });
      // The server never answers the third request.
      if (tries === 2) await clock.advance(30_000);
      if (tries === 3) request.json({ offset: 7, is_repeat: true }, 202);
      await settled();
      await clock.advance(4000);
    }
    expect(await approved).toEqual({ key: keys[0], offset: 7 });
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^\w{20,}$/);
  });

  test('says which trace it is part of, the same each time that it is sent; reads say none', async () => {
    const { server, clock } = stage();
    let count = 0;
    const client = createClient({
      ...{ url: 'http://server.test', fetch: server.fetch, clock, random: () => 1 },
      trace: () => ({ traceparent: `00-${'ab'.repeat(16)}-${'0'.repeat(15)}${++count}-01` }),
    });
    const sent = async () => (await server.next()).headers.get('traceparent');
    const denied = client.task('t').deny('c1');
    const first = await server.next();
    first.break();
    await settled();
    await clock.advance(4000);
    const second = await server.next();
    expect(second.headers.get('traceparent')).toBe(first.headers.get('traceparent'));
    second.json({ offset: 7, is_repeat: false }, 202);
    await denied;
    void client
      .task('t')
      .deny('c2')
      .catch(() => {});
    expect(await sent()).not.toBe(first.headers.get('traceparent'));
    void client.agents().catch(() => {});
    expect(await sent()).toBeNull();
  });

  test('is sent all the same where its trace is none', async () => {
    const { server, clock } = stage();
    const client = createClient({
      ...{ url: 'http://server.test', fetch: server.fetch, clock },
      trace: () => ({ traceparent: 'nonsense' }),
    });
    const denied = client.task('t').deny('c1');
    const request = await server.next();
    expect(request.headers.get('traceparent')).toBeNull();
    request.json({ offset: 7, is_repeat: false }, 202);
    await denied;
  });

  test('that is refused is not sent again', async () => {
    const { server, clock, client } = stage();
    const denied = client.task('t').deny('c1');
    const error = { code: 'bad_state', status: 'CANCELED' };
    (await server.next()).json({ message: 'It is over', error }, 400);
    await expect(denied).rejects.toMatchObject({
      ...{ code: 'bad_state', message: 'It is over', details: error },
    });
    await clock.advance(600_000);
    expect(server.requests).toHaveLength(1);
  });

  test('is given up after a while, and at once with its signal', async () => {
    const { server, clock, client } = stage();
    const denied = client.task('t').deny('c1');
    denied.catch(() => {});
    for (let tries = 0; tries < 6; tries++) {
      (await server.next()).break();
      await settled();
      await clock.advance(60_000);
    }
    await expect(denied).rejects.toMatchObject({ code: 'unreachable' });
    const controller = new AbortController();
    const stopped = client.task('t').stop('Enough', { signal: controller.signal });
    const request = await server.next();
    controller.abort(new Error('left'));
    await expect(stopped).rejects.toThrow('left');
    expect([request.isLeft, server.requests.length]).toEqual([true, 7]);
  });

  test('aborted while it waits to be sent again is not sent', async () => {
    const { server, clock, client } = stage();
    const controller = new AbortController();
    const listed = client.agents({ signal: controller.signal });
    (await server.next()).break();
    await settled();
    controller.abort(new Error('left'));
    await expect(listed).rejects.toThrow('left');
    await clock.advance(600_000);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a message to a sync agent, and a task without a name', () => {
  test('are sent again under the same key', async () => {
    const { server, clock, client } = stage();
    const again = async (first: FakeRequest) => {
      first.break();
      await settled();
      await clock.advance(4000);
      const second = await server.next();
      const keys = [first, second].map(({ headers }) => headers.get('idempotency-key'));
      expect(keys[0]).toMatch(/^\w{20,}$/);
      expect(keys[1]).toBe(keys[0]);
      return second;
    };
    const sent = client.task('t').send('Hi');
    (await server.next()).json(row('sync'));
    const other = await again(await server.next());
    // The server may answer an earlier message first. This wait has no time limit.
    await clock.advance(600_000);
    expect(other.isLeft).toBe(false);
    other.open('', 'application/x-ndjson');
    await sent;
    const created = client.createTask({ agent: 'a' });
    const second = await again(await server.next());
    second.json({ jsonrpc: '2.0', id: 1, error: null, result: { id: 'new' } });
    expect((await created).id).toBe('new');
  });

  test('are sent with the key that is given, and refused as they are refused', async () => {
    const { server, client } = stage();
    const created = client.createTask({ agent: 'a' }, { key: 'mine' });
    const first = await server.next();
    expect(first.headers.get('idempotency-key')).toBe('mine');
    first.json({ jsonrpc: '2.0', id: 1, error: null, result: { id: 'new' } });
    await created;
    const sent = client.task('t').send('Hi', { key: 'mine-too' });
    (await server.next()).json(row('sync'));
    const error = { code: -32600, message: 'It is over', data: { code: 'bad_state' } };
    (await server.next()).json({ jsonrpc: '2.0', id: 1, error, result: null });
    await expect(sent).rejects.toMatchObject({ code: 'bad_state', message: 'It is over' });
    expect(server.requests).toHaveLength(3);
  });
});

test('an answer of another program is reported as such', async () => {
  const { server, client } = stage();
  const listed = client.tasks();
  (await server.next()).open('<html>', 'text/html');
  server.requests[0]?.end();
  await expect(listed).rejects.toMatchObject({ code: 'bad_answer' });
  const agents = client.agents();
  (await server.next()).json({ not: 'a list' });
  await expect(agents).rejects.toMatchObject({ code: 'bad_answer' });
});
