import { afterAll, beforeAll, expect, test } from 'vitest';
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
