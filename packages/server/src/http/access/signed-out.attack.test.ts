import { request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { expect, onTestFinished, test } from 'vitest';
import type { RequestAccess } from '../../contract/http.ts';
import { createServer, type ServerOptions } from '../../create-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// A user of the application follows a task. Then the application signs the user out, or gives the user other
// rights. The user must not receive what is written later.

type Authorize = NonNullable<ServerOptions['authorize']>;

const answer = { type: 'text', author: 'agent', content: 'Hello.' } as const;
const maxConcurrent = 10;

/** Starts two servers that share a log. `authorize` reads the sign-in of a cookie. */
async function cluster(authorize: Authorize) {
  const clock = new TestClock();
  const shared = { log: memoryLog({ clock }), rows: memoryRows({ clock }), clock };
  const start = async () => {
    const server = createServer({
      ...{ ...shared, authorize, tokens: [testToken('operator')] },
      agents: [{ type: 'sync', name: 'a', onMessage: async () => answer }],
    });
    onTestFinished(() => server.close());
    return (await server.listen({ port: 0 })).url;
  };
  const first = await start();
  const response = await fetch(`${first}/agents/name/a/rpc`, {
    method: 'POST',
    headers: { cookie: 'ann', 'content-type': 'application/json' },
    body: JSON.stringify({ method: 'task/create', params: {} }),
  });
  const { result } = (await response.json()) as { readonly result: { readonly id: string } };
  return { clock, urls: [first, await start()], task: result.id };
}

/** Opens the stream of a task, and returns whether it has ended. */
async function follow(url: string, task: string, cookie = 'ann') {
  const response = await fetch(`${url}/tasks/${task}/stream?view=records`, { headers: { cookie } });
  expect(response.status).toBe(200);
  const state = { isOver: false };
  const end = () => Object.assign(state, { isOver: true });
  void response.text().then(end, end);
  return state;
}

const everything = { user: 'ann', scope: { kind: 'all' } } as const;

test.each([
  ['is signed out', everything, undefined],
  ['is another user', everything, { ...everything, user: 'bob' }],
  ['loses the rights of an operator', everything, { user: 'ann' }],
  [
    'may use only one other task',
    { user: 'ann' },
    { user: 'ann', scope: { kind: 'task', taskId: 'x' } },
  ],
] as [string, RequestAccess, RequestAccess | undefined][])(
  '18.216: attack: a user who %s keeps no open stream, on no server',
  async (_, before, after) => {
    const cookies = new Map<string, RequestAccess | undefined>();
    cookies.set('ann', before).set('other', everything);
    const { clock, urls, task } = await cluster(({ headers }) =>
      cookies.get(headers.get('cookie') ?? ''),
    );
    const streams = await Promise.all(urls.map((url) => follow(url, task)));
    const other = await follow(urls[0] ?? '', task, 'other');
    await clock.advance(60_000);
    expect(streams.map(({ isOver }) => isOver)).toEqual([false, false]);
    cookies.set('ann', after);
    await clock.advance(15_000);
    await expect.poll(() => streams.map(({ isOver }) => isOver)).toEqual([true, true]);
    expect(other.isOver).toBe(false);
  },
);

test('a stream stays open if the application cannot answer, or only the right to write changed', async () => {
  let authorize: Authorize = () => everything;
  const { clock, urls, task } = await cluster((request) => authorize(request));
  const stream = await follow(urls[0] ?? '', task);
  authorize = () => Promise.reject(new Error('The database does not answer.'));
  await clock.advance(60_000);
  authorize = () => ({ ...everything, isReadOnly: true });
  await clock.advance(60_000);
  expect(stream.isOver).toBe(false);
  authorize = () => undefined;
  await clock.advance(15_000);
  await expect.poll(() => stream.isOver).toBe(true);
});

test('18.217: attack: many open streams do not make the server call authorize without limit', async () => {
  let calls = 0;
  let answerAll = () => {};
  const held = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  let authorize: Authorize = () => everything;
  const { clock, urls, task } = await cluster((request) => authorize(request));
  const streams: { readonly isOver: boolean }[] = [];
  for (let count = 0; count < 25; count++) streams.push(await follow(urls[0] ?? '', task));
  authorize = async () => {
    calls++;
    await held;
    return undefined;
  };
  await clock.advance(15_000);
  expect(calls).toBe(maxConcurrent);
  // Slow calls do not prevent the checks of other streams, and no stream is checked twice at the same time.
  await clock.advance(120_000);
  expect(calls).toBe(streams.length);
  answerAll();
  await expect.poll(() => streams.every(({ isOver }) => isOver)).toBe(true);
});

test.each([
  ['is signed out', undefined, 401],
  ['may only read now', { ...everything, isReadOnly: true }, 403],
] as const)(
  '18.555: attack: a user sends half of a request, %s, and sends the rest',
  async (_, after, expected) => {
    const admitted = Promise.withResolvers<void>();
    let access: RequestAccess | undefined = everything;
    const { clock, urls, task } = await cluster(({ method }) => {
      if (method === 'PUT') admitted.resolve();
      return access;
    });
    const body = JSON.stringify({ task_metadata: { title: 'changed' } });
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const sent = request(`${urls[0]}/tasks/${task}`, { method: 'PUT', headers });
    const status = new Promise((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
    });
    sent.write(body.slice(0, 5));
    await admitted.promise;
    await nextTurn();
    access = after;
    clock.jump(1000);
    sent.end(body.slice(5));
    expect(await status).toBe(expected);
    access = everything;
    const read = await fetch(`${urls[0]}/tasks/${task}`);
    expect(await read.text()).not.toContain('changed');
  },
);
