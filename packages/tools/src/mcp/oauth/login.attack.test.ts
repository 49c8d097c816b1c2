import {
  chmod,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  fileMcpLogins,
  loginMcp,
  logoutMcp,
  type McpHttpServer,
  type McpLoginPage,
  type McpOAuth,
  memoryMcpLogins,
} from '../index.ts';

// A hostile MCP server, or a hostile authorization server, uses the login to get tokens of other servers, to
// reach services of this machine, or to stop the program.

const connections = new McpConnections();
afterEach(() => connections.closeAll());

async function startIssuer() {
  const issuer = await startAuthorizationServer();
  onTestFinished(() => issuer.close());
  return issuer;
}

async function start(oauth: Partial<McpOAuth> = {}) {
  const issuer = await startIssuer();
  const mcp = await startProtectedServer(issuer);
  onTestFinished(() => mcp.close());
  const logins = oauth.logins ?? memoryMcpLogins();
  const server: McpHttpServer = {
    name: 'test',
    http: { url: mcp.url, oauth: { logins, ...oauth } },
  };
  return { issuer, mcp, server, logins };
}

/** A server that counts its requests, as a service that only this machine can reach. */
async function startCanary() {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { requests, port: (server.address() as AddressInfo).port };
}

/** A hostile server on the internet. Its metadata and the metadata of its issuer are given. */
function remoteServer(
  metadata: Readonly<Record<string, unknown>>,
  issuerMetadata: Readonly<Record<string, unknown>> = {},
  challenge = 'Bearer',
  url = 'https://mcp.example.com/mcp',
): McpHttpServer {
  const answers: typeof fetch = async (input) => {
    const { pathname } = new URL(String(input));
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return Response.json({ resource: url, ...metadata });
    if (pathname.startsWith('/.well-known/oauth-authorization-server'))
      return Response.json(issuerMetadata);
    return new Response('', { status: 401, headers: { 'www-authenticate': challenge } });
  };
  const oauth = { logins: memoryMcpLogins() };
  return { name: 'remote', http: { url, fetch: answers, oauth } };
}

const noPage = (page: McpLoginPage) => {
  throw new Error(`opened ${page.url}`);
};

test('attack 18.331: the token of one server is not sent to another, whatever its metadata says', async () => {
  const { server, issuer, logins, mcp } = await start();
  await loginMcp(server, { openPage: browse });
  const before = await logins.read(mcp.url);
  // The second server names the same issuer, and shares the folder of logins.
  const hostile = await startProtectedServer({ issuer: issuer.issuer, accepts: () => false });
  onTestFinished(() => hostile.close());
  const other = { name: 'hostile', http: { url: hostile.url, oauth: { logins } } };
  await expect(connections.connect(other)).rejects.toMatchObject({ code: 'login_required' });
  const sent = hostile.requests.map(({ headers }) => headers.get('authorization'));
  expect(sent.filter((header) => header !== null)).toEqual([]);
  const tokens = issuer.requests.filter(({ path }) => path === '/token');
  expect(tokens).toHaveLength(1);
  expect(await logins.read(mcp.url)).toEqual(before);
});

test('attack 18.331: a server cannot send its refresh token to another issuer', async () => {
  const { server, issuer, mcp, logins } = await start();
  await loginMcp(server, { openPage: browse });
  const connected = await connections.connect(server);
  const login = await logins.read(mcp.url);
  // The server was taken over. It refuses the token, and names an issuer of the attacker.
  const thief = await startIssuer();
  mcp.answerWith(async (request) =>
    request.url.includes('.well-known')
      ? Response.json({ resource: mcp.url, authorization_servers: [thief.issuer] })
      : new Response('', { status: 401 }),
  );
  const { text } = await call(connected, 'echo', { text: 'hi' });
  expect(text).toContain('it needs a login');
  expect(thief.requests.map(({ path }) => path)).not.toContain('/token');
  const sent = thief.requests.map(({ fields }) => fields.toString()).join();
  expect(sent).not.toContain(login?.refreshToken);
  expect(issuer.requests.filter(({ path }) => path === '/token')).toHaveLength(1);
});

test('attack 18.332: metadata of a remote server reaches nothing on this machine', async () => {
  const canary = await startCanary();
  const local = [
    `http://127.0.0.1:${canary.port}`,
    `http://localhost:${canary.port}`,
    `https://localhost:${canary.port}`,
    `https://127.0.0.1:${canary.port}`,
    `https://[::1]:${canary.port}`,
    `https://[::ffff:127.0.0.1]:${canary.port}`,
    `https://0.0.0.0:${canary.port}`,
    'https://169.254.169.254',
    'https://10.0.0.1',
  ];
  for (const issuer of local) {
    const server = remoteServer({ authorization_servers: [issuer] });
    const done = loginMcp(server, { openPage: noPage });
    await expect(done, issuer).rejects.toThrow(/not on the public internet|does not use https/);
  }
  const challenge = `Bearer resource_metadata="http://127.0.0.1:${canary.port}/latest/meta-data"`;
  const server = remoteServer({}, {}, challenge);
  await expect(loginMcp(server, { openPage: noPage })).rejects.toThrow('does not use https');
  expect(canary.requests).toEqual([]);
});

test('attack 18.332: endpoints in the metadata of a remote server reach nothing on this machine', async () => {
  const canary = await startCanary();
  const issuer = 'https://mcp.example.com/';
  const endpoint = `https://127.0.0.1:${canary.port}/secret`;
  const endpoints = {
    ...{ issuer, authorization_endpoint: `${issuer}authorize`, token_endpoint: endpoint },
    ...{ registration_endpoint: endpoint, device_authorization_endpoint: endpoint },
    ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
  };
  const named = { authorization_servers: [issuer] };
  const server = remoteServer(named, endpoints);
  const refused = /not on the public internet/;
  await expect(loginMcp(server, { openPage: noPage })).rejects.toThrow(refused);
  const { http, ...rest } = server;
  const known = { ...rest, http: { ...http, oauth: { ...http.oauth, clientId: 'me' } } };
  const device = loginMcp(known as McpHttpServer, { flow: 'device', openPage: noPage });
  await expect(device).rejects.toThrow(refused);
  // The page is on the server, and the code goes to the endpoint.
  const returning = loginMcp(known as McpHttpServer, {
    openPage: async ({ url }) => {
      const { searchParams } = new URL(url);
      const back = new URL(searchParams.get('redirect_uri') ?? '');
      back.search = String(
        new URLSearchParams({ code: 'x', state: searchParams.get('state') ?? '' }),
      );
      await browse({ url: back.href });
    },
  });
  await expect(returning).rejects.toThrow(refused);
  expect(canary.requests).toEqual([]);
});

test('attack 18.332: a server of a private network reaches the network, and not this machine', async () => {
  const canary = await startCanary();
  const server = remoteServer({ authorization_servers: [`http://127.0.0.1:${canary.port}`] });
  const { oauth } = server.http;
  const inside: McpHttpServer = {
    ...server,
    http: { ...server.http, oauth: { logins: memoryMcpLogins(), ...oauth, privateNetwork: true } },
  };
  await expect(loginMcp(inside, { openPage: noPage })).rejects.toThrow('belongs to this machine');
  const named = remoteServer({ authorization_servers: [`http://localhost:${canary.port}`] });
  const http = { ...named.http, oauth: { logins: memoryMcpLogins(), privateNetwork: true } };
  await expect(loginMcp({ name: 'x', http }, { openPage: noPage })).rejects.toThrow(
    'belongs to this machine',
  );
  expect(canary.requests).toEqual([]);
});

test.for([
  'javascript:alert(1)//',
  'file:///etc/passwd',
  'ms-settings:privacy',
  'data:text/html,x',
  '--new-window',
  'https://user:password@127.0.0.1/authorize',
])('attack 18.333: the login page %s is not opened', async (page) => {
  const { server, issuer } = await start();
  issuer.metadata = { ...issuer.metadata, authorization_endpoint: page };
  const opened: string[] = [];
  const openPage = ({ url }: McpLoginPage) => void opened.push(url);
  await expect(loginMcp(server, { openPage })).rejects.toMatchObject({ code: 'login_failed' });
  expect(opened).toEqual([]);
});

test('attack 18.333: a remote server opens no page of this machine, and no page without TLS', async () => {
  for (const page of ['http://127.0.0.1:631/admin', 'https://192.168.1.1/reboot', 'http://a.com']) {
    const issuer = 'https://mcp.example.com/';
    const server = remoteServer(
      { authorization_servers: [issuer] },
      {
        ...{ issuer, authorization_endpoint: page, token_endpoint: `${issuer}token` },
        ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
      },
    );
    const http = { ...server.http, oauth: { logins: memoryMcpLogins(), clientId: 'me' } };
    const opened: string[] = [];
    const openPage = ({ url }: McpLoginPage) => void opened.push(url);
    await expect(loginMcp({ name: 'x', http }, { openPage })).rejects.toMatchObject({
      code: 'login_failed',
    });
    expect(opened).toEqual([]);
  }
});

test.for([
  ['https://mcp.example.com/', false, 'https://localhost', 'not on the public internet'],
  ['https://mcp.example.com/', false, 'https://a.localhost.', 'not on the public internet'],
  ['https://mcp.example.com/', false, 'https://ip6-localhost', 'not on the public internet'],
  ['https://mcp.example.com/', false, 'https://x.localdomain', 'not on the public internet'],
  ['https://mcp.example.com/', false, 'https://router', 'not on the public internet'],
  ['https://mcp.example.com/', false, 'https://login.example.org', 'opened https://login'],
  ['https://mcp.example.com/', true, 'https://ip6-localhost', 'belongs to this machine'],
  ['https://mcp.example.com/', true, 'https://router', 'opened https://router'],
  ['http://10.1.2.3/', false, 'http://[64:ff9b::a9fe:a9fe]', 'belongs to this machine'],
  ['http://10.1.2.3/', false, 'http://[64:ff9b:1::7f00:1]', 'belongs to this machine'],
  ['http://10.1.2.3/', false, 'http://[2002:7f00:1::]', 'belongs to this machine'],
  ['http://10.1.2.3/', false, 'http://[::127.0.0.1]', 'belongs to this machine'],
  ['http://10.1.2.3/', false, 'http://[::ffff:0:127.0.0.1]', 'belongs to this machine'],
  ['http://10.1.2.3/', false, 'http://[64:ff9b::10.1.2.4]', 'opened http://[64:ff9b::a01:204]'],
] as const)(
  '18.434: attack: a server at %s (private network: %s) names the page %s',
  async ([issuer, privateNetwork, page, outcome]) => {
    const { http } = remoteServer(
      { authorization_servers: [issuer] },
      {
        ...{ issuer, authorization_endpoint: page, token_endpoint: `${issuer}token` },
        ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
        authorization_response_iss_parameter_supported: true,
      },
      'Bearer',
      `${issuer}mcp`,
    );
    const oauth = { logins: memoryMcpLogins(), clientId: 'me', privateNetwork };
    const server = { name: 'x', http: { ...http, oauth } };
    await expect(loginMcp(server, { openPage: noPage })).rejects.toThrow(outcome);
  },
);

test('attack 18.334: a return with another state is refused, and does not end the login', async () => {
  const { server } = await start();
  const statuses: number[] = [];
  await loginMcp(server, {
    openPage: async (page) => {
      const back = new URL(new URL(page.url).searchParams.get('redirect_uri') ?? '');
      for (const query of ['?code=stolen&state=guess', '?error=access_denied', '?code=stolen']) {
        const response = await fetch(new URL(query, back));
        statuses.push(response.status);
      }
      statuses.push((await fetch(back, { method: 'POST' })).status);
      await browse(page);
    },
  });
  expect(statuses).toEqual([400, 400, 400, 400]);
});

test('attack 18.334: a code of another issuer is not redeemed', async () => {
  const { server, issuer } = await start();
  issuer.metadata = {
    ...issuer.metadata,
    authorization_response_iss_parameter_supported: true,
  };
  issuer.changeReturn = (parameters) => parameters.set('iss', 'https://thief.example.com');
  await expect(loginMcp(server, { openPage: browse })).rejects.toMatchObject({
    code: 'login_failed',
  });
  expect(issuer.requests.map(({ path }) => path)).not.toContain('/token');
});

test('attack 18.335: an issuer without PKCE is refused before a page opens', async () => {
  const { server, issuer } = await start();
  for (const methods of [undefined, [], ['plain']]) {
    issuer.metadata = { ...issuer.metadata, code_challenge_methods_supported: methods };
    await expect(loginMcp(server, { openPage: noPage })).rejects.toThrow('PKCE');
  }
});

test('attack 18.336: no token is in an error, a problem or a result', async () => {
  const problems: string[] = [];
  const { server, issuer, logins, mcp } = await start();
  await loginMcp(server, { openPage: browse });
  const login = await logins.read(mcp.url);
  const secrets = [login?.accessToken ?? '?', login?.refreshToken ?? '?'];
  const connected = await connections.connect(server, {
    onProblem: (problem) => problems.push(problem),
  });
  // The server repeats the token in its answers.
  mcp.answerWith(async (request) => {
    const token = request.headers.get('authorization');
    return new Response(`no: ${token} ${encodeURIComponent(String(token))}`, { status: 500 });
  });
  const { text } = await call(connected, 'echo', { text: 'hi' });
  const error = await connections.connect(server).then(
    () => 'connected',
    (thrown: unknown) => `${String(thrown)} ${JSON.stringify(thrown)}`,
  );
  issuer.metadata = { ...issuer.metadata, issuer: secrets.join(' ') };
  const failed = await loginMcp(server, { openPage: browse }).then(
    () => 'logged in',
    (thrown: unknown) => `${String(thrown)} ${JSON.stringify(thrown)}`,
  );
  expect(error).toContain('[secret]');
  const all = [text, error, failed, ...problems].join('\n');
  for (const secret of secrets) expect(all).not.toContain(secret);
});

test('attack 18.337: a large or endless answer of a login ends', async () => {
  const { server, issuer } = await start();
  issuer.metadata = { ...issuer.metadata, padding: 'x'.repeat(300_000) };
  const done = loginMcp(server, { openPage: noPage });
  await expect(done).rejects.toThrow('more than 262144 bytes');
});

test('attack 18.337: a device login does not ask more often than once a second', async () => {
  const { server, issuer } = await start();
  issuer.deviceError = 'authorization_pending';
  const abort = new AbortController();
  const done = loginMcp(server, { flow: 'device', openPage: () => {}, signal: abort.signal });
  done.catch(() => {});
  const polls = () => issuer.requests.filter(({ path }) => path === '/token').length;
  const started = performance.now();
  await expect.poll(polls).toBeGreaterThanOrEqual(2);
  abort.abort();
  await expect(done).rejects.toThrow('abort');
  expect(polls()).toBeLessThanOrEqual((performance.now() - started) / 1_000 + 1);
});

test('attack 18.338: a login that others can read, a link and a copied login are not used', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'logins-'));
  const logins = fileMcpLogins(folder);
  const { server, mcp } = await start({ logins });
  await loginMcp(server, { openPage: browse });
  const [name = ''] = await readdir(folder);
  const path = join(folder, name);
  const stored = await readFile(path, 'utf8');
  await chmod(path, 0o644);
  await expect(logins.read(mcp.url)).rejects.toThrow('other users can read');
  await expect(connections.connect(server)).rejects.toThrow('other users can read');
  await rename(path, join(folder, 'target'));
  await chmod(join(folder, 'target'), 0o600);
  await symlink(join(folder, 'target'), path);
  await expect(logins.read(mcp.url)).rejects.toThrow('ELOOP');
  await rm(path);
  await writeFile(path, stored.replace(mcp.url, `${mcp.url}/other`), { mode: 0o600 });
  expect(await logins.read(mcp.url)).toBe(undefined);
  await writeFile(path, stored);
  expect(await logins.read(mcp.url)).toHaveProperty('accessToken');
});

test('attack 18.339: headers of the server are not sent to its authorization server', async () => {
  const { server, issuer, logins } = await start();
  const seen: (string | undefined)[] = [];
  const spy = createServer((request, response) => {
    seen.push(request.headers['x-api-key'] as string | undefined);
    response.end(JSON.stringify(issuer.metadata));
  });
  spy.listen(0, '127.0.0.1');
  await new Promise((resolve) => spy.once('listening', resolve));
  onTestFinished(() => void spy.close());
  const at = `http://127.0.0.1:${(spy.address() as AddressInfo).port}`;
  issuer.metadata = { ...issuer.metadata, issuer: at, registration_endpoint: `${at}/register` };
  const mcp = await startProtectedServer({ issuer: at, accepts: () => false });
  onTestFinished(() => mcp.close());
  const http = { ...server.http, url: mcp.url, headers: { 'x-api-key': 'canary' } };
  await expect(
    loginMcp({ name: 'x', http: { ...http, oauth: { logins } } }, { openPage: noPage }),
  ).rejects.toMatchObject({ code: 'login_failed' });
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.every((key) => key === undefined)).toBe(true);
  expect(mcp.requests.some(({ headers }) => headers.get('x-api-key') === 'canary')).toBe(true);
});

test('attack 18.340: a server that never answers its login does not block the start', async () => {
  const { server, mcp } = await start();
  await loginMcp(server, { openPage: browse });
  // The token is refused, and the metadata never arrives.
  mcp.answerWith((request) =>
    request.url.includes('.well-known')
      ? new Promise(() => {})
      : Promise.resolve(new Response('', { status: 401 })),
  );
  const connecting = connections.connect(server, { connectTimeoutMs: 200 });
  await expect(connecting).rejects.toMatchObject({ code: 'cannot_connect' });
});

test.for([
  ['https://8.8.8.8/mcp', /not on the public internet|does not use https/],
  ['http://203.0.113.9/mcp', /belongs to this machine/],
  ['http://10.1.2.3/mcp', /belongs to this machine/],
  ['http://[::ffff:8.8.8.8]/mcp', /belongs to this machine/],
] as const)(
  '18.353: attack: the metadata of a server at %s reaches nothing on this machine',
  async ([url, refused]) => {
    const canary = await startCanary();
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '0.0.0.0', 'localhost']) {
      const local = `http://${host}:${canary.port}`;
      const challenge = `Bearer resource_metadata="${local}/meta"`;
      const named = remoteServer({ authorization_servers: [local] }, {}, 'Bearer', url);
      const described = remoteServer({}, {}, challenge, url);
      for (const server of [named, described])
        await expect(loginMcp(server, { openPage: noPage })).rejects.toThrow(refused);
    }
    for (const metadata of ['169.254.169.254', '100.100.100.200', '[fd00:ec2::254]']) {
      const named = { authorization_servers: [`http://${metadata}`] };
      const server = remoteServer(named, {}, 'Bearer', url);
      await expect(loginMcp(server, { openPage: noPage })).rejects.toThrow(refused);
    }
    expect(canary.requests).toEqual([]);
  },
);

test.for([
  ['http://10.1.2.3/mcp', false],
  ['https://mcp.example.com/mcp', true],
] as const)(
  '18.353: a login of a server at %s can use a private IPv4 address',
  async ([url, privateNetwork]) => {
    const issuer = new URL('/', url).href;
    const endpoints = {
      ...{ issuer, token_endpoint: `${issuer}token` },
      ...{ authorization_endpoint: 'http://10.9.8.7/authorize' },
      ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
      authorization_response_iss_parameter_supported: true,
    };
    const server = remoteServer({ authorization_servers: [issuer] }, endpoints, 'Bearer', url);
    const oauth = { logins: memoryMcpLogins(), clientId: 'me', privateNetwork };
    const inside = { name: 'x', http: { ...server.http, oauth } };
    const done = loginMcp(inside, { openPage: noPage });
    await expect(done).rejects.toThrow('opened http://10.9.8.7/authorize');
  },
);

test.for(['device', 'browser'] as const)(
  '18.354: attack: a server names a new authorization server to get the secret of the client: %s',
  async (flow) => {
    const { server, mcp, issuer, logins } = await start({
      ...{ clientId: 'me', clientSecret: 'CLIENT-SECRET' },
    });
    await logins.write(mcp.url, { issuer: issuer.issuer, clientId: 'me' });
    const thief = await startIssuer();
    mcp.answerWith(async (request) =>
      request.url.includes('.well-known')
        ? Response.json({ resource: mcp.url, authorization_servers: [thief.issuer] })
        : new Response('', { status: 401 }),
    );
    const both = `was ${issuer.issuer}, and now it names ${thief.issuer}`;
    await expect(loginMcp(server, { flow, openPage: browse })).rejects.toThrow(both);
    const sent = () => thief.requests.map(({ fields }) => fields.toString()).join();
    expect(sent()).not.toContain('CLIENT-SECRET');
    expect(thief.requests.every(({ path }) => path.includes('.well-known'))).toBe(true);
    // The user sees both names, and can trust the new one.
    await logoutMcp(server);
    const opened: string[] = [];
    const openPage = ({ url }: McpLoginPage) => {
      opened.push(url);
      throw new Error('I stop here');
    };
    await expect(loginMcp(server, { flow, openPage })).rejects.toThrow('I stop here');
    expect(opened.join()).toContain(thief.issuer);
  },
);
