import { TestClock } from '@millrace/log/suite';
import { describe, expect, test } from 'vitest';
import { createClient } from '../create-client.ts';
import { FakeServer } from '../testing/fake-server.ts';
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
      // This one is never answered.
      if (tries === 2) await clock.advance(30_000);
      if (tries === 3) request.json({ offset: 7, is_repeat: true }, 202);
      await settled();
      await clock.advance(4000);
    }
    expect(await approved).toEqual({ key: keys[0], offset: 7 });
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^\w{20,}$/);
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

describe('what would count twice', () => {
  test('is sent once: a message to a sync agent, a task without a name', async () => {
    const { server, client } = stage();
    const sent = client.task('t').send('Hi');
    (await server.next()).json(row('sync'));
    (await server.next()).break();
    await expect(sent).rejects.toMatchObject({ code: 'unreachable' });
    const created = client.createTask({ agent: 'a' });
    (await server.next()).break();
    await expect(created).rejects.toMatchObject({ code: 'unreachable' });
    expect(server.requests).toHaveLength(3);
  });

  test('is sent again where it was turned away at the door', async () => {
    const { server, clock, client } = stage();
    const created = client.createTask({ agent: 'a' });
    (await server.next()).json({ message: 'Too many' }, 429, { 'retry-after': '2' });
    await settled();
    await clock.advance(2000);
    (await server.next()).json({ jsonrpc: '2.0', id: 1, error: null, result: { id: 'new' } });
    expect((await created).id).toBe('new');
  });
});

test('an answer of something else is told as that', async () => {
  const { server, client } = stage();
  const listed = client.tasks();
  (await server.next()).open('<html>', 'text/html');
  server.requests[0]?.end();
  await expect(listed).rejects.toMatchObject({ code: 'bad_answer' });
  const agents = client.agents();
  (await server.next()).json({ not: 'a list' });
  await expect(agents).rejects.toMatchObject({ code: 'bad_answer' });
});
