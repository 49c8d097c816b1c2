import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startHttpServer, type TestHttpServer } from '../mcp-http-server.ts';

/** An authorization server for tests. Its login page needs no person: it returns to the client at once. */
export interface TestAuthorizationServer {
  readonly issuer: string;
  /** The path and the parameters of each request. */
  readonly requests: readonly {
    readonly path: string;
    readonly fields: URLSearchParams;
    /** The header of the request. */
    readonly authorization: string | undefined;
  }[];
  /** The metadata. Tests can change it. */
  metadata: Record<string, unknown>;
  /** Changes the parameters with which the login page returns. */
  changeReturn: (parameters: URLSearchParams) => void;
  /** The error of device logins. Undefined after the user has entered the code. */
  deviceError: string | undefined;
  /** The error of logins of programs. Default: they succeed. */
  programError: string | undefined;
  /** True if the token gives a right. */
  accepts(token: string | undefined, scope?: string): boolean;
  /** Makes all access tokens invalid, as if they had expired. */
  expire(): void;
  /** Makes all refresh tokens invalid too. */
  revokeAll(): void;
  close(): Promise<void>;
}

interface Grant {
  readonly clientId: string;
  readonly scope: string;
  readonly challenge?: string;
}

export async function startAuthorizationServer(): Promise<TestAuthorizationServer> {
  const requests: TestAuthorizationServer['requests'][number][] = [];
  const codes = new Map<string, Grant>();
  const accessTokens = new Map<string, Grant>();
  const refreshTokens = new Map<string, Grant>();
  const clients = new Set<string>();

  const issue = (grant: Grant) => {
    const [access_token, refresh_token] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    accessTokens.set(access_token, grant);
    refreshTokens.set(refresh_token, grant);
    return json({ access_token, refresh_token, token_type: 'Bearer', scope: grant.scope });
  };

  const token = (fields: URLSearchParams): Response => {
    const grantType = fields.get('grant_type') ?? '';
    if (grantType.endsWith('device_code')) {
      if (self.deviceError !== undefined) return json({ error: self.deviceError }, 400);
      return issue({ clientId: fields.get('client_id') ?? '', scope: 'device' });
    }
    if (grantType === 'client_credentials')
      return self.programError === undefined
        ? issue({ clientId: 'program', scope: fields.get('scope') ?? '' })
        : json({ error: self.programError }, 401);
    const isRefresh = grantType === 'refresh_token';
    const [tokens, key] = isRefresh
      ? [refreshTokens, fields.get('refresh_token') ?? '']
      : [codes, fields.get('code') ?? ''];
    const grant = tokens.get(key);
    // Codes and refresh tokens work once.
    tokens.delete(key);
    const verifier = fields.get('code_verifier') ?? '';
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const isProven = isRefresh || grant?.challenge === challenge;
    if (grant === undefined || !isProven || grant.clientId !== fields.get('client_id'))
      return json({ error: 'invalid_grant' }, 400);
    return issue(grant);
  };

  const authorize = (fields: URLSearchParams): Response => {
    const clientId = fields.get('client_id') ?? '';
    if (!clients.has(clientId)) return json({ error: 'unknown client' }, 400);
    const code = randomUUID();
    const challenge = fields.get('code_challenge') ?? '';
    codes.set(code, { clientId, scope: fields.get('scope') ?? '', challenge });
    const target = new URL(fields.get('redirect_uri') ?? '');
    target.searchParams.set('code', code);
    target.searchParams.set('state', fields.get('state') ?? '');
    self.changeReturn(target.searchParams);
    return new Response(null, { status: 302, headers: { location: target.href } });
  };

  const handle = async (path: string, fields: URLSearchParams): Promise<Response> => {
    switch (path) {
      case '/.well-known/oauth-authorization-server':
        return json(self.metadata);
      case '/register': {
        const client_id = `client-${randomUUID()}`;
        clients.add(client_id);
        return json({ ...JSON.parse(fields.get('body') ?? '{}'), client_id }, 201);
      }
      case '/authorize':
        return authorize(fields);
      case '/token':
        return token(fields);
      case '/device':
        return json({
          ...{ device_code: 'device-secret', user_code: 'ABCD-EFGH', expires_in: 600, interval: 0 },
          verification_uri: `${self.issuer}/enter-code`,
        });
      case '/revoke':
        refreshTokens.delete(fields.get('token') ?? '');
        return new Response(null, { status: 200 });
      default:
        return new Response('not found', { status: 404 });
    }
  };

  const server = createServer((incoming, outgoing) => {
    void fieldsOf(incoming).then(async ({ path, fields }) => {
      requests.push({ path, fields, authorization: incoming.headers.authorization });
      const response = await handle(path, fields);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(await response.text());
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: TestAuthorizationServer = {
    ...{ issuer, requests, deviceError: undefined, changeReturn: () => {} },
    programError: undefined,
    metadata: {
      ...{ issuer, authorization_endpoint: `${issuer}/authorize` },
      ...{ token_endpoint: `${issuer}/token`, registration_endpoint: `${issuer}/register` },
      device_authorization_endpoint: `${issuer}/device`,
      revocation_endpoint: `${issuer}/revoke`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    },
    accepts: (given = '', scope = '') => {
      const granted = accessTokens.get(given)?.scope.split(' ');
      return granted !== undefined && (scope === '' || granted.includes(scope));
    },
    expire: () => accessTokens.clear(),
    revokeAll: () => {
      accessTokens.clear();
      refreshTokens.clear();
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return self;
}

/** Starts an MCP server that accepts only tokens of an authorization server. */
export async function startProtectedServer(
  issuer: Pick<TestAuthorizationServer, 'accepts' | 'issuer'>,
  /** The scope that calls of tools need. */
  callScope?: string,
): Promise<TestHttpServer> {
  const server = await startHttpServer('sessions');
  const { origin } = new URL(server.url);
  const metadata = {
    ...{ resource: server.url, authorization_servers: [issuer.issuer] },
    scopes_supported: ['read'],
  };
  const metadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
  server.answerWith(async (request, usual) => {
    if (request.url === metadataUrl) return json(metadata);
    const token = request.headers.get('authorization')?.replace(/^Bearer /, '');
    const challenge = `Bearer resource_metadata="${metadataUrl}"`;
    if (!issuer.accepts(token))
      return new Response(`bad token ${token}`, {
        status: 401,
        headers: { 'www-authenticate': challenge },
      });
    const body = request.method === 'POST' ? await request.clone().text() : '';
    if (body.includes('"tools/call"') && callScope && !issuer.accepts(token, callScope))
      return new Response('', {
        status: 403,
        headers: {
          'www-authenticate': `${challenge}, error="insufficient_scope", scope="${callScope}"`,
        },
      });
    return usual(request);
  });
  return server;
}

/** Opens a login page as a browser does: it follows the redirect to the client. */
export async function browse(page: { readonly url: string }): Promise<void> {
  await (await fetch(page.url)).text();
}

async function fieldsOf(incoming: IncomingMessage) {
  const url = new URL(incoming.url ?? '/', 'http://localhost');
  const chunks = await incoming.toArray();
  const body = Buffer.concat(chunks).toString();
  const isForm = incoming.headers['content-type']?.includes('urlencoded') === true;
  const fields = isForm ? new URLSearchParams(body) : url.searchParams;
  if (!isForm && body !== '') fields.set('body', body);
  return { path: url.pathname, fields };
}

function json(value: unknown, status = 200): Response {
  return Response.json(value, { status });
}
