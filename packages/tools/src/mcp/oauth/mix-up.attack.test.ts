import { expect, onTestFinished, test } from 'vitest';
import {
  browse,
  startAuthorizationServer,
  startProtectedServer,
} from '../../testing/mcp/authorization-server.ts';
import { loginMcp, type McpHttpServer, type McpLoginPage, memoryMcpLogins } from '../index.ts';

// A hostile MCP server names the login page of an honest authorization server beside its own token endpoint. It would
// get the code of the honest server, and could exchange the code there (mix-up).

async function startIssuer() {
  const issuer = await startAuthorizationServer();
  onTestFinished(() => issuer.close());
  return issuer;
}

async function start() {
  const [good, evil] = [await startIssuer(), await startIssuer()];
  const mcp = await startProtectedServer(evil);
  onTestFinished(() => mcp.close());
  // The hostile server registers its client at the honest server.
  evil.metadata = {
    ...evil.metadata,
    authorization_endpoint: `${good.issuer}/authorize`,
    registration_endpoint: `${good.issuer}/register`,
  };
  const oauth = { logins: memoryMcpLogins() };
  const server: McpHttpServer = { name: 'evil', http: { url: mcp.url, oauth } };
  const pages: McpLoginPage[] = [];
  const openPage = (page: McpLoginPage) => {
    pages.push(page);
    return browse(page);
  };
  const codes = () => evil.requests.filter(({ path }) => path === '/token');
  return { good, evil, server, pages, openPage, codes };
}

test('18.1407: attack: a server names the login page of an honest issuer beside its own token endpoint', async () => {
  const { server, good, pages, openPage, codes } = await start();
  const { host } = new URL(good.issuer);
  await expect(loginMcp(server, { openPage })).rejects.toThrow(`its login page belongs to ${host}`);
  expect(pages).toEqual([]);
  expect(codes()).toEqual([]);
});

test('18.1407: attack: this server also promises that its login page names the issuer', async () => {
  const { server, evil, pages, openPage, codes } = await start();
  evil.metadata['authorization_response_iss_parameter_supported'] = true;
  await expect(loginMcp(server, { openPage })).rejects.toThrow('Cannot log in');
  expect(pages.map(({ issuer }) => issuer)).toEqual([evil.issuer]);
  expect(codes()).toEqual([]);
});

test('18.1407: attack: a server starts a login with a code at an honest issuer', async () => {
  const { server, evil, good, pages, openPage, codes } = await start();
  const { host } = new URL(good.issuer);
  const device = { device_code: 'a', user_code: 'ABCD', expires_in: 600, interval: 0 };
  const answer = { ...device, verification_uri: `${good.issuer}/enter-code` };
  const { fetch } = globalThis;
  const http = {
    ...server.http,
    // The address of the device login is on the origin of the MCP server, so it uses this function.
    fetch: (async (url, init) =>
      String(url).endsWith('/device') ? Response.json(answer) : fetch(url, init)) as typeof fetch,
  };
  evil.metadata['device_authorization_endpoint'] = `${new URL(server.http.url).origin}/device`;
  const login = loginMcp({ ...server, http }, { flow: 'device', openPage });
  await expect(login).rejects.toThrow(`its login page belongs to ${host}`);
  expect(pages).toEqual([]);
  expect(codes()).toEqual([]);
});

// These suffixes have many owners. An owner of one name below a suffix is not the owner of another one.
test.for(
  ['workers.dev', 'vercel.app', 'github.io', 'asso.fr', 'co.uk', 's3.amazonaws.com'].flatMap(
    (suffix) => [
      [`evil.${suffix}`, `honest.${suffix}`],
      [`mcp.evil.${suffix}`, `login.honest.${suffix}`],
      [`evil.${suffix}`, suffix],
      [suffix, `honest.${suffix}`],
    ],
  ),
)('18.1605: attack: the server %s opens the login page of another owner, %s', ([host, page]) =>
  expectPage([host ?? '', page ?? '', host ?? '', false]),
);

test.for([
  ['app.example.workers.dev', 'login.example.workers.dev'],
  ['example.github.io', 'example.github.io'],
  ['mcp.example.asso.fr', 'example.asso.fr'],
  ['mcp.corp.internal', 'login.corp.internal'],
])('18.1605: the server %s opens the page %s of its owner', ([host, page]) =>
  expectPage([host ?? '', page ?? '', host ?? '', true]),
);

test.for([
  ['mcp.example.com', 'mcp.example.com', 'mcp.example.com', true],
  ['mcp.example.com', 'login.example.com', 'api.example.com', true],
  ['mcp.example.com', 'example.com', 'tokens.example.net', true],
  ['accounts.example.com', 'accounts.example.com', 'oauth.example-apis.com', true],
  ['issuer.example-cloud.com', 'pool.example-login.com', 'pool.example-login.com', true],
  ['mcp.example.co.uk', 'login.example.co.uk', 'mcp.example.co.uk', true],
  ['mcp.example.co.uk', 'login.other.co.uk', 'mcp.example.co.uk', false],
  ['mcp.example.com', 'login.other.com', 'mcp.example.com', false],
  ['mcp.example.com', 'example.com.other.com', 'mcp.example.com', false],
  ['mcp.example.com', 'badexample.com', 'mcp.example.com', false],
  ['203.0.113.7', '198.51.113.7', '203.0.113.7', false],
] as const)(
  '18.1407: of the issuer %s, the page of %s with the token endpoint of %s is opened: %s',
  expectPage,
);

/** The hosts of the issuer, the page and the token endpoint, and whether the page is opened. */
type LoginPage = readonly [string, string, string, boolean];

/** Expects that a login at the server opens the page, or refuses it. */
async function expectPage([host, page, token, isOpened]: LoginPage) {
  const origin = `https://${host}`;
  const metadata = {
    ...{ issuer: origin, registration_endpoint: `${origin}/register` },
    authorization_endpoint: `https://${page}/authorize`,
    token_endpoint: `https://${token}/token`,
    ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
  };
  const answer: typeof fetch = async (url, init) => {
    const { pathname } = new URL(String(url));
    if (pathname === '/register')
      return Response.json({ ...JSON.parse(String(init?.body)), client_id: 'me' });
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
    if (pathname === '/.well-known/oauth-authorization-server') return Response.json(metadata);
    return new Response('', { status: pathname === '/mcp' ? 401 : 404 });
  };
  const oauth = { logins: memoryMcpLogins() };
  const server = { name: 'test', http: { url: `${origin}/mcp`, fetch: answer, oauth } };
  const openPage = ({ url }: McpLoginPage) => {
    throw new Error(`opened ${new URL(url).host}`);
  };
  const why = isOpened ? `opened ${page}` : `its login page belongs to ${page}`;
  await expect(loginMcp(server, { openPage })).rejects.toThrow(why);
}
