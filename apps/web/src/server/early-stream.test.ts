import { expect, test } from 'vitest';
import { FakeServer } from '../../../../packages/client/src/testing/fake-server.ts';
import { earlyStream } from './early-stream.ts';

const origin = 'http://server.test';
const stream = (id: string) => new URL(`/tasks/${id}/stream?view=records&start=recent`, origin);
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test('a page that opens at a session requests it at once, and the client receives that response', async () => {
  const server = new FakeServer();
  const fetch = earlyStream(`${origin}/app/tasks/t?at=4`, 'secret', server.fetch);
  const early = await server.next();
  expect([early.url.href, early.headers.get('authorization')]).toEqual([
    stream('t').href,
    'Bearer secret',
  ]);
  early.open('id: 1\n\n');
  const answer = await fetch(stream('t'), bearer('secret'));
  expect([answer.ok, server.requests.length]).toEqual([true, 1]);
  void fetch(stream('t'), bearer('secret'));
  expect(server.requests.length).toBe(2);
});

test('a page that opens at a comparison requests the first difference at once', async () => {
  const server = new FakeServer();
  const fetch = earlyStream(`${origin}/app/tasks/t/diff?other=u`, '', server.fetch);
  const early = await server.next();
  expect(early.url.href).toBe(`${origin}/tasks/t/divergence?other=u`);
  early.open('{}');
  await fetch(early.url, {});
  expect(server.requests.length).toBe(1);
});

test('the early request is aborted with the request that took it', async () => {
  const server = new FakeServer();
  const fetch = earlyStream(`${origin}/app/tasks/t`, '', server.fetch);
  const early = await server.next();
  early.open();
  const leaving = new AbortController();
  await fetch(stream('t'), { signal: leaving.signal });
  leaving.abort();
  expect(early.isLeft).toBe(true);
});

test('another session, cursor or token causes a new request', () => {
  const server = new FakeServer();
  const fetch = earlyStream(`${origin}/app/tasks/t`, 'old', server.fetch);
  const later = stream('t');
  later.searchParams.set('from', '3');
  void fetch(stream('u'), bearer('old'));
  void fetch(later, bearer('old'));
  void fetch(stream('t'), bearer('new'));
  expect(server.requests.length).toBe(4);
});

test('other pages send no early request', () => {
  const server = new FakeServer();
  earlyStream(`${origin}/app/overview`, '', server.fetch);
  earlyStream(`${origin}/`, '', server.fetch);
  expect(server.requests.length).toBe(0);
});
