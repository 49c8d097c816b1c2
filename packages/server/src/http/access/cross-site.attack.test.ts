import { TestClock } from '@millrace/log/suite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rawRequest } from '../../testing/raw-request.ts';
import { startTestServer, type TestServer, testToken } from '../../testing/servers/test-server.ts';

// A page of a different site, and a program that guesses tokens, attack a server on loopback. The requests
// use raw sockets, because `fetch` cannot send these headers.

let open: TestServer;
let closed: TestServer;
beforeAll(async () => {
  open = await startTestServer({ hosts: ['agents.example'] });
  closed = await startTestServer({ operators: ['operator'] });
});
afterAll(async () => {
  await open[Symbol.asyncDispose]();
  await closed[Symbol.asyncDispose]();
});

const body = '{"method":"task/create"}';
const requests = [
  ['reads tasks', 'GET', '/tasks', ''],
  ['follows a task', 'GET', '/tasks/any/stream', ''],
  ['loads a blob', 'GET', `/tasks/any/blobs/${'0'.repeat(64)}`, ''],
  ['creates a task', 'POST', '/agents/name/echo/rpc', body],
  ['creates a token', 'POST', '/tokens', '{}'],
  ['deletes an agent', 'DELETE', '/agents/agent-echo', ''],
] as const;

/** Headers that a browser sends for a page of a different site. */
const browsers = [
  ['of another site, as an image or a form', ['sec-fetch-site: cross-site']],
  ['of another port of this machine', ['sec-fetch-site: same-site']],
  ['of another site, by fetch', ['sec-fetch-site: cross-site', 'origin: https://evil.example']],
  ['of another port, by fetch', ['sec-fetch-site: same-site', 'origin: http://127.0.0.1:1']],
  ['in a sandbox', ['sec-fetch-site: cross-site', 'origin: null']],
  ['with a header that no browser sends', ['sec-fetch-site: same-origin, cross-site']],
  ['of an old browser', ['origin: https://evil.example']],
] as const;

interface PageRequest {
  readonly method: string;
  readonly path: string;
  readonly sent: string;
  readonly headers: readonly string[];
}

const attacks = browsers.flatMap(([page, headers]) =>
  requests.map(
    ([what, method, path, sent]) => [page, what, { method, path, sent, headers }] as const,
  ),
);

const send = (
  { port }: TestServer,
  request: PageRequest,
  host = `127.0.0.1:${port}`,
  more: readonly string[] = [],
) => {
  const { method, path, sent, headers } = request;
  const type =
    sent === '' ? [] : ['content-type: application/json', `content-length: ${sent.length}`];
  const head = [`${method} ${path} HTTP/1.1`, `host: ${host}`, 'connection: close', ...headers];
  return rawRequest(port, `${[...head, ...more, ...type].join('\r\n')}\r\n\r\n${sent}`);
};

test.each(attacks)('attack 8: a page %s %s and is refused', async (_page, _what, request) => {
  expect((await send(open, request)).status).toBe(403);
  // The server refuses the request even with a token, because the page may have obtained the token from a
  // link.
  const token = [`authorization: Bearer ${testToken('operator')}`];
  expect((await send(closed, request, undefined, token)).status).toBe(403);
});

test.each(
  requests.flatMap(([what, method, path, sent]) =>
    ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example'].map(
      (host) =>
        [host, what, { method, path, sent, headers: ['sec-fetch-site: same-origin'] }] as const,
    ),
  ),
)(
  'attack 8: a page of %s, which resolves to this machine, %s and is refused',
  async (host, _what, request) => {
    expect((await send(open, request, host)).status).toBe(421);
  },
);

describe('a program that guesses tokens', () => {
  const limits = { wrongTokensPerSecond: 1, wrongTokenBurst: 5 };
  const guess = (server: TestServer, token: string) =>
    server.request('/tasks', { headers: { authorization: `Bearer ${token}` } });

  test('attack 16: is slowed down, and does not lock out others', async () => {
    const clock = new TestClock();
    await using server = await startTestServer({ clock, limits, operators: ['operator'] });
    const headers = { authorization: `Bearer ${testToken('operator')}` };
    const { json } = await server.request('/tokens', { headers, body: {} });
    expect((await guess(server, json.token)).status).toBe(200);
    const statuses: number[] = [];
    for (let n = 0; n < 50; n++) statuses.push((await guess(server, `mr_guess-${n}`)).status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.slice(5).every((status) => status === 429)).toBe(true);
    // The operator and a token that was used before are accepted from the same address.
    expect((await guess(server, testToken('operator'))).status).toBe(200);
    expect((await guess(server, json.token)).status).toBe(200);
    clock.jump(2000);
    expect((await guess(server, 'mr_guess')).status).toBe(401);
  });

  test('attack: does not lock out a token that is used for the first time', async () => {
    const clock = new TestClock();
    await using server = await startTestServer({ clock, limits, operators: ['operator'] });
    for (let n = 0; n < 6; n++) await guess(server, `mr_guess-${n}`);
    const headers = { authorization: `Bearer ${testToken('operator')}` };
    const { json } = await server.request('/tokens', { headers, body: {} });
    expect((await guess(server, json.token)).status).toBe(200);
    // Valid tokens do not give the guesser more attempts.
    expect((await guess(server, 'mr_guess')).status).toBe(429);
  });
});
