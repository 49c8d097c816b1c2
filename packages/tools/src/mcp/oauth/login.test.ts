import { generateKeyPairSync, verify } from 'node:crypto';
import { mkdtemp, readdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import {
  browse,
  startAuthorizationServer,
  startProtectedServer,
} from '../../testing/mcp/authorization-server.ts';
import { call, McpConnections } from '../../testing/mcp-connections.ts';
import {
  connectMcp,
  fileMcpLogins,
  loginMcp,
  logoutMcp,
  type McpHttpServer,
  type McpLoginPage,
  type McpOAuth,
  memoryMcpLogins,
} from '../index.ts';

const connections = new McpConnections();
afterEach(() => connections.closeAll());

/** Starts an MCP server with a login, and returns its description. */
async function start(oauth: Partial<McpOAuth> = {}, callScope?: string) {
  const issuer = await startAuthorizationServer();
  const mcp = await startProtectedServer(issuer, callScope);
  onTestFinished(async () => {
    await mcp.close();
    await issuer.close();
  });
  const logins = oauth.logins ?? memoryMcpLogins();
  const server: McpHttpServer = {
    name: 'test',
    http: { url: mcp.url, oauth: { logins, ...oauth } },
  };
  return { issuer, mcp, server, logins };
}

const pathsOf = (issuer: Awaited<ReturnType<typeof startAuthorizationServer>>) =>
  issuer.requests.map(({ path }) => path);

test('24.4: a server without a login fails with login_required, and loginMcp mends it', async () => {
  const { server, issuer, mcp } = await start();
  await expect(connections.connect(server)).rejects.toMatchObject({ code: 'login_required' });
  await loginMcp(server, { openPage: browse });
  const connected = await connections.connect(server);
  expect(await call(connected, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  const [authorize, token] = ['/authorize', '/token'].map((path) =>
    issuer.requests.find((request) => request.path === path),
  );
  expect(authorize?.fields.get('resource')).toBe(mcp.url);
  expect(authorize?.fields.get('code_challenge_method')).toBe('S256');
  expect(authorize?.fields.get('scope')).toBe('read');
  expect(authorize?.fields.get('state')?.length).toBeGreaterThan(40);
  expect(token?.fields.get('resource')).toBe(mcp.url);
});

test('24.4: with openPage, connectMcp logs in by itself', async () => {
  const pages: McpLoginPage[] = [];
  const openPage = async (page: McpLoginPage) => {
    pages.push(page);
    await browse(page);
  };
  const { server, issuer } = await start({ openPage });
  const connected = await connections.connect(server);
  expect(await call(connected, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  expect(pages).toHaveLength(1);
  expect(pages[0]?.server).toBe('test');
  expect(pages[0]?.url).toContain(`${issuer.issuer}/authorize?`);
});

test('24.4: an expired token is renewed once for calls at the same time, without a page', async () => {
  const { server, issuer } = await start();
  await loginMcp(server, { openPage: browse });
  const connected = await connections.connect(server);
  issuer.expire();
  const before = issuer.requests.length;
  const results = await Promise.all(
    ['a', 'b', 'c'].map((text) => call(connected, 'echo', { text })),
  );
  expect(results.map(({ text }) => text)).toEqual(['a', 'b', 'c']);
  const after = pathsOf(issuer).slice(before);
  expect(after).not.toContain('/authorize');
  expect(after).toContain('/token');
});

test('24.4: a login that was revoked is asked for again', async () => {
  const { server, issuer, logins, mcp } = await start();
  await loginMcp(server, { openPage: browse });
  const connected = await connections.connect(server);
  issuer.revokeAll();
  const { text, isError } = await call(connected, 'echo', { text: 'hi' });
  expect(isError).toBe(true);
  expect(text).toContain('it needs a login. Log in to it');
  expect(await logins.read(mcp.url)).not.toHaveProperty('accessToken');
  await loginMcp(server, { openPage: browse });
  expect(await call(connected, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  // The client is registered only once.
  expect(pathsOf(issuer).filter((path) => path === '/register')).toHaveLength(1);
});

test('24.4: a call that needs more rights names them, and the next login asks for them', async () => {
  const { server, issuer } = await start({}, 'write');
  await loginMcp(server, { openPage: browse });
  const connected = await connections.connect(server);
  const { text } = await call(connected, 'echo', { text: 'hi' });
  expect(text).toContain('it asks for more rights than it has. Log in to it');
  await loginMcp(server, { openPage: browse });
  expect(await call(connected, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  const scopes = issuer.requests
    .filter(({ path }) => path === '/authorize')
    .map(({ fields }) => fields.get('scope'));
  expect(scopes).toEqual(['read', 'read write']);
});

test('24.4: with openPage, a call that needs more rights logs in and is repeated', async () => {
  const { server } = await start({ openPage: browse }, 'write');
  const connected = await connections.connect(server);
  expect(await call(connected, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
});

test('24.4: a login with a code needs no browser on this machine', async () => {
  const { server, issuer } = await start();
  issuer.deviceError = 'authorization_pending';
  const pages: McpLoginPage[] = [];
  await loginMcp(server, {
    flow: 'device',
    openPage: (page) => {
      pages.push(page);
      issuer.deviceError = undefined;
    },
  });
  expect(pages).toEqual([
    {
      server: 'test',
      issuer: issuer.issuer,
      url: `${issuer.issuer}/enter-code`,
      userCode: 'ABCD-EFGH',
    },
  ]);
  const connected = await connections.connect(server);
  expect(await call(connected, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
});

test('24.4: a code that the user refuses ends the login', async () => {
  const { server, issuer } = await start();
  issuer.deviceError = 'access_denied';
  const done = loginMcp(server, { flow: 'device', openPage: () => {} });
  await expect(done).rejects.toMatchObject({ code: 'login_failed' });
  await expect(done).rejects.toThrow('access_denied');
});

test('24.4: files of logins are private, and another process uses them', async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'logins-')), 'logins');
  const { server } = await start({ logins: fileMcpLogins(folder) });
  await loginMcp(server, { openPage: browse });
  const [name = ''] = await readdir(folder);
  expect(await readdir(folder)).toHaveLength(1);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, name), 'utf8')).toContain('"accessToken"');
  const oauth = { logins: fileMcpLogins(folder) };
  const connected = await connections.connect({
    name: 'test',
    http: { url: server.http.url, oauth },
  });
  expect(connected.tools.length).toBeGreaterThan(0);
});

test('24.4: logoutMcp deletes the login and revokes the token', async () => {
  const { server, issuer, logins, mcp } = await start();
  await loginMcp(server, { openPage: browse });
  await logoutMcp(server);
  expect(await logins.read(mcp.url)).toBe(undefined);
  expect(pathsOf(issuer)).toContain('/revoke');
  await expect(connections.connect(server)).rejects.toMatchObject({ code: 'login_required' });
});

test('24.4: a login that nobody finishes ends with its time limit, and can be cancelled', async () => {
  const { server } = await start();
  const never = { openPage: () => {}, timeoutMs: 50 };
  await expect(loginMcp(server, never)).rejects.toThrow('nobody finished it within 50 ms');
  const abort = new AbortController();
  const cancelled = loginMcp(server, { openPage: () => abort.abort(), signal: abort.signal });
  await expect(cancelled).rejects.toThrow('abort');
});

test('24.4: an authorization header replaces the login', async () => {
  const { server, issuer } = await start({ openPage: browse });
  const http = { ...server.http, headers: { Authorization: 'Bearer mine' } };
  await expect(connectMcp({ name: 'test', http })).rejects.toThrow('HTTP 401');
  expect(issuer.requests).toEqual([]);
});

const program = { as: 'program', clientId: 'my app', clientSecret: 'top:secret' } as const;
const tokenRequests = (issuer: Awaited<ReturnType<typeof startAuthorizationServer>>) =>
  issuer.requests.filter(({ path }) => path === '/token');

test('24.4: a program logs in as itself with a secret, without a page, and again when the token ends', async () => {
  const { server, issuer, mcp } = await start(program);
  issuer.metadata['token_endpoint_auth_methods_supported'] = ['client_secret_basic'];
  const connected = await connections.connect(server);
  expect(await call(connected, 'echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
  const [first] = tokenRequests(issuer);
  const [, pair = ''] = /^Basic (.+)$/.exec(first?.authorization ?? '') ?? [];
  expect(Buffer.from(pair, 'base64').toString()).toBe('my+app:top%3Asecret');
  expect(first?.fields.get('resource')).toBe(mcp.url);
  expect(pathsOf(issuer)).not.toContain('/authorize');
  issuer.expire();
  issuer.revokeAll();
  expect(await call(connected, 'echo', { text: 'again' })).toMatchObject({ text: 'again' });
});

test('24.4: a program proves its identity with a private key', async () => {
  const keys = [
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['EdDSA', generateKeyPairSync('ed25519')],
  ] as const;
  for (const [alg, pair] of keys) {
    const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { server, issuer } = await start({ as: 'program', clientId: 'app', privateKey });
    await loginMcp(server);
    const [sent] = tokenRequests(issuer);
    const [head = '', claims = '', signature = ''] =
      sent?.fields.get('client_assertion')?.split('.') ?? [];
    const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
    expect(read(head)).toEqual({ alg, typ: 'JWT' });
    expect(read(claims)).toMatchObject({ iss: 'app', sub: 'app', aud: issuer.issuer });
    const isValid = verify(
      alg === 'EdDSA' ? null : 'sha256',
      Buffer.from(`${head}.${claims}`),
      { key: pair.publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    expect([alg, isValid]).toEqual([alg, true]);
    expect(JSON.stringify([...(sent?.fields ?? [])])).not.toContain('PRIVATE');
  }
});

test('24.4: a refused login of a program names the reason, and neither secret nor key', async () => {
  const { server, issuer } = await start(program);
  issuer.programError = 'invalid_client top:secret';
  const failed = await connections.connect(server).catch((error: unknown) => error);
  expect(String(failed)).toContain('invalid_client');
  expect(String(failed)).not.toContain('top:secret');
  for (const [oauth, why] of [
    [{ as: 'program' }, 'needs a clientId'],
    [{ as: 'program', clientId: 'app' }, 'needs a clientSecret or a privateKey'],
    [{ as: 'program', clientId: 'app', privateKey: 'KEYTEXT' }, 'not a private key'],
  ] as const) {
    const other = await start(oauth);
    const error = await loginMcp(other.server).catch((reason: unknown) => reason);
    expect(String(error)).toContain(why);
    expect(String(error)).not.toContain('KEYTEXT');
    expect(tokenRequests(other.issuer)).toEqual([]);
  }
});
