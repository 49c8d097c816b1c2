import { memoryLog } from '@millrace/log';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countingLog } from '../../../../log/src/testing/counting-log.ts';
import { asUser, ScopeServer, userOfCookie } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';

const operator = testToken('operator');
const [alice, bob] = [asUser('alice'), asUser('bob')];
let server: ScopeServer;

beforeAll(async () => {
  const limits = { maxBodyBytes: 1000 };
  server = await ScopeServer.start({ authorize: userOfCookie, limits });
  const secret = new Blob(['classified']);
  await server.ask(alice, 'PUT', '/streams/users/alice/notes', secret);
  await server.ask(operator, 'PUT', '/streams/plans', secret);
});

afterAll(() => server[Symbol.asyncDispose]());

test.each([
  'users/alice/notes',
  'users%2Falice/notes',
  'users/alice%2Fnotes',
  'users/bob/../alice/notes',
  'users/bob/%2e%2e/%2e%2e/users/alice/notes',
  'users/bob',
  'users/bob/',
  'plans',
])('24.6: attack: a user reads and changes the stream %s of others', async (path) => {
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'HEAD']) {
    const body = method === 'POST' ? new Blob(['forged']) : undefined;
    const { status, text } = await server.ask(bob, method, `/streams/${path}`, body);
    expect([400, 404]).toContain(status);
    expect(text).not.toContain('classified');
  }
  const { text } = await server.ask(alice, 'GET', '/streams/users/alice/notes');
  expect(text).toBe('classified');
});

test.each(['/users/alice/notes', '/streams/users/alice/notes', 'plans', '/users%2Falice/notes'])(
  '24.6: attack: a user forks the stream %s of others',
  async (source) => {
    const response = await fetch(new URL('/streams/users/bob/copy', server.url), {
      ...{ method: 'PUT', headers: { cookie: bob, 'stream-forked-from': source } },
    });
    expect(response.status).toBe(404);
  },
);

test('24.6: attack: a read-only token changes a stream', async () => {
  const reader = await server.createToken({ read_only: true });
  for (const method of ['PUT', 'POST', 'DELETE'])
    expect((await server.ask(reader, method, '/streams/plans')).status).toBe(403);
  expect((await server.ask(reader, 'GET', '/streams/plans')).text).toBe('classified');
});

test('24.6: attack: a stream with a web page runs scripts on the origin of the server', async () => {
  const url = new URL('/streams/users/alice/page', server.url);
  const headers = { cookie: alice, 'content-type': 'text/html' };
  await fetch(url, { method: 'PUT', headers, body: '<script>alert(1)</script>' });
  const { headers: sent } = await fetch(url, { headers });
  expect(sent.get('content-security-policy')).toBe("sandbox; default-src 'none'");
  expect(sent.get('x-content-type-options')).toBe('nosniff');
});

test('24.6: attack: bodies, headers and producers without limits', async () => {
  const url = new URL('/streams/users/alice/bounded', server.url);
  const own = { cookie: alice, 'content-type': 'text/plain' };
  const send = async (method: string, headers: object, body: string | null = null) =>
    (await fetch(url, { method, headers: { ...own, ...headers }, body })).status;
  expect(await send('PUT', {})).toBe(201);
  expect(await send('POST', {}, 'x'.repeat(1001))).toBe(413);
  expect(await send('POST', { 'stream-seq': 'x'.repeat(257) }, 'x')).toBe(400);
  const producer = { 'producer-epoch': '0', 'producer-seq': '0' };
  expect(await send('POST', { ...producer, 'producer-id': 'x'.repeat(257) }, 'x')).toBe(400);
  // A name of the prototype is a name like others.
  expect(await send('POST', { ...producer, 'producer-id': '__proto__' }, 'x')).toBe(200);
  expect(await send('POST', { ...producer, 'producer-id': '__proto__' }, 'x')).toBe(204);
});

/** Sends requests to the streams of a server. Each request must have the expected status. */
function streamClient(url: string, user: string) {
  const send = async (status: number, method: string, path: string, headers: object = {}) => {
    const type = method === 'PUT' && { 'content-type': 'text/plain' };
    const response = await fetch(new URL(`/streams/users/bob/${path}`, url), {
      ...{ method, headers: { cookie: user, ...type, ...headers } },
    });
    await response.text();
    expect({ method, path, status: response.status }).toEqual({ method, path, status });
  };
  const fork = (path: string, from: string, status = 201) =>
    send(status, 'PUT', path, { 'stream-forked-from': `users/bob/${from}` });
  return { send, fork };
}

test('18.306: attack: the search for forks of deleted streams doubles with each level', async () => {
  const { log, take } = countingLog(memoryLog());
  await using forks = await ScopeServer.start({ authorize: userOfCookie, log });
  const { send, fork } = streamClient(forks.url, bob);
  const levels = 9;
  await send(201, 'PUT', 'a0');
  await send(201, 'PUT', 'b0');
  for (let at = 0; at < levels; at++) {
    // Each stream lists a path that is now the fork of another stream, and then its own fork.
    for (const [from, path] of [
      [`a${at}`, `b${at + 1}`],
      [`b${at}`, `a${at + 1}`],
    ] as const) {
      await fork(path, from);
      await send(204, 'DELETE', path);
    }
    await fork(`a${at + 1}`, `a${at}`);
    await fork(`b${at + 1}`, `b${at}`);
  }
  for (let at = 0; at < levels; at++) {
    await send(204, 'DELETE', `a${at}`);
    await send(204, 'DELETE', `b${at}`);
  }
  const costs: number[] = [];
  for (let at = levels - 1; at >= 0; at--) {
    take();
    await send(410, 'GET', `a${at}`);
    costs.push(take().calls);
  }
  // A read needs few calls at each level. The server's own scans of the log are counted too.
  expect(Math.max(...costs)).toBeLessThan(100);

  // The last stream of a chain removes the deleted streams before it, one after the other.
  take();
  await send(204, 'DELETE', `a${levels}`);
  expect(take().calls).toBeLessThan(100 * levels);
  for (let at = 0; at <= levels; at++) await send(404, 'GET', `a${at}`);
  await send(410, 'GET', 'b0');
});

test('18.307: attack: a chain of forks without end makes each new fork larger', async () => {
  await using forks = await ScopeServer.start({ authorize: userOfCookie });
  const { send, fork } = streamClient(forks.url, bob);
  await send(201, 'PUT', 's0');
  for (let at = 0; at < 100; at++) await fork(`s${at + 1}`, `s${at}`);
  await fork('s101', 's100', 413);
  await send(404, 'GET', 's101');
  await send(200, 'GET', 's100');
  await fork('other', 's99');
});
