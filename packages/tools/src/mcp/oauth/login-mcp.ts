import {
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  OAuthError,
  registerClient,
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client';
import { type LoginChallenge, McpError } from '../../contract/mcp-error.ts';
import type { McpLogin, OpenLoginPage } from '../../contract/mcp-oauth.ts';
import { checkServer, type McpHttpServer } from '../../contract/mcp-server.ts';
import { assertKnownOptions } from '../../known-options.ts';
import { clip, createRedactor } from '../transport/error-text.ts';
import {
  type AuthorizationServer,
  assertOwnPage,
  clientInformation,
  extraEndpoint,
  findAuthorizationServer,
  isSameIssuer,
  joinScopes,
} from './authorization-server.ts';
import { deviceGrant, deviceLogin } from './device-flow.ts';
import { assertPageAllowed, type LoginFetch, loginFetch } from './guarded-fetch.ts';
import { type IssuedTokens, issuedTokens } from './issued-tokens.ts';
import { programLogin } from './program-login.ts';
import { listenForRedirect, type RedirectListener } from './redirect-listener.ts';
import {
  hasLogin,
  loginKey,
  type OAuthServer,
  ServerAuthorization,
} from './server-authorization.ts';

/** Options of `loginMcp`. */
export interface McpLoginOptions {
  /** Shows the login page to the user. Default: `oauth.openPage` of the server. */
  readonly openPage?: OpenLoginPage | undefined;
  /**
   * `browser`: the login page returns to this program, so it must run on the same machine. `device`: the user
   * enters a code on any device. Default: `browser`.
   */
  readonly flow?: 'browser' | 'device' | undefined;
  /** Cancels the login. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit for the user. Default: 10 minutes. */
  readonly timeoutMs?: number | undefined;
}

const defaultTimeoutMs = 600_000;
const maxProblemLength = 1_000;

/**
 * Logs in to an MCP server with OAuth 2.1, and stores the tokens in `oauth.logins` of the server.
 *
 * @example
 * ```ts
 * const oauth = { logins: fileMcpLogins('mcp-logins') };
 * const server = { name: 'tickets', http: { url: 'https://tickets.example.com/mcp', oauth } };
 * await loginMcp(server, { openPage: ({ url }) => console.log(`Open ${url}`) });
 * const tickets = await connectMcp(server);
 * ```
 */
export async function loginMcp(
  server: McpHttpServer,
  options: McpLoginOptions = {},
): Promise<void> {
  checkServer(server);
  assertKnownOptions('loginMcp', options, {
    ...{ openPage: true, flow: true, signal: true, timeoutMs: true },
  });
  if (!hasLogin(server))
    throw loginFailed(server, 'it has no oauth option, or it has an authorization header');
  await login(server, undefined, options);
}

/** Deletes the login of an MCP server. If the authorization server supports it, the tokens become invalid. */
export async function logoutMcp(server: McpHttpServer): Promise<void> {
  checkServer(server);
  if (!hasLogin(server)) return;
  const { logins } = server.http.oauth;
  const login = await logins.read(loginKey(server));
  await logins.write(loginKey(server), undefined);
  // The login is gone on this machine, even if the server does not answer.
  if (login !== undefined) await revoke(server, login).catch(() => {});
}

/** Logs in. A missing challenge is requested from the server first. */
export async function login(
  server: OAuthServer,
  given: LoginChallenge | undefined,
  options: McpLoginOptions,
): Promise<void> {
  const { oauth } = server.http;
  const { flow = 'browser', timeoutMs = defaultTimeoutMs, openPage = oauth.openPage } = options;
  if (openPage === undefined && oauth.as !== 'program')
    throw loginFailed(server, 'nobody can open the login page');
  const limits = [AbortSignal.timeout(timeoutMs), ...(options.signal ? [options.signal] : [])];
  const signal = AbortSignal.any(limits);
  const access = new ServerAuthorization(server, signal);
  const fetchFn = loginFetch(server, signal);
  try {
    const challenge = given ?? (await requestChallenge(server, fetchFn));
    const authorization = await findAuthorizationServer(server, challenge, fetchFn);
    const stored = await access.read();
    const before =
      stored !== undefined && isSameIssuer(stored.issuer, authorization.issuer)
        ? stored
        : undefined;
    if (before === undefined) assertSecretStays(server, stored, authorization);
    const scope = scopeOf(authorization, challenge, oauth.scope, before);
    const work = { server, authorization, before, scope, openPage, fetchFn, signal };
    await access.write(await loginBy(oauth.as === 'program' ? 'program' : flow, work));
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof McpError) throw error;
    if (signal.aborted) throw loginFailed(server, `nobody finished it within ${timeoutMs} ms`);
    const why = createRedactor(server, access)(describeProblem(error));
    throw loginFailed(server, clip(why, maxProblemLength));
  }
}

/**
 * Throws if the secret of this client would go to a new authorization server. The MCP server names the
 * authorization server, so a server that was taken over could otherwise get the secret.
 */
function assertSecretStays(
  { http }: OAuthServer,
  stored: McpLogin | undefined,
  { issuer }: AuthorizationServer,
): void {
  const { clientSecret, privateKey } = http.oauth;
  if (stored === undefined || (clientSecret ?? privateKey) === undefined) return;
  const why = `its authorization server was ${stored.issuer}, and now it names ${issuer}`;
  throw new Error(`${why}. If you trust the new one with the secret of this client, log out first`);
}

/** The parts of a login that all ways to log in need. */
interface LoginWork {
  readonly server: OAuthServer;
  readonly authorization: AuthorizationServer;
  /** The earlier login at the same authorization server. */
  readonly before: McpLogin | undefined;
  readonly scope: string | undefined;
  /** Undefined if the program logs in as itself. */
  readonly openPage: OpenLoginPage | undefined;
  readonly fetchFn: LoginFetch;
  readonly signal: AbortSignal;
}

type PageWork = LoginWork & { readonly openPage: OpenLoginPage };

async function loginBy(way: 'browser' | 'device' | 'program', work: LoginWork): Promise<McpLogin> {
  const { server, openPage } = work;
  if (way === 'program') return logInAsProgram(work);
  if (openPage === undefined) throw loginFailed(server, 'nobody can open the login page');
  return way === 'device'
    ? logInByCode({ ...work, openPage })
    : logInByBrowser({ ...work, openPage });
}

/** The stored login has no secret, because the next login has it from the options. */
async function logInAsProgram({ server, ...work }: LoginWork): Promise<McpLogin> {
  const { oauth } = server.http;
  const client = { issuer: work.authorization.issuer, clientId: oauth.clientId ?? '' };
  const tokens = await programLogin({ ...work, oauth, client });
  return loginOf(client, { ...tokens, scope: tokens.scope ?? work.scope });
}

async function logInByBrowser(work: PageWork): Promise<McpLogin> {
  const { server, authorization, scope, fetchFn, signal } = work;
  const listener = await openListener(work);
  try {
    const client = await findClient(work, listener.redirectUri);
    const { authorizationUrl, codeVerifier } = await startAuthorization(authorization.url, {
      ...sdkParts(authorization),
      ...{ clientInformation: clientInformation(client), redirectUrl: listener.redirectUri },
      ...{ state: listener.state, ...(scope !== undefined && { scope }) },
    });
    const page = assertPageAllowed(server, authorizationUrl);
    await assertOwnPage(server, authorization, page, namesIssuer(authorization));
    const startUrl = listener.startUri(page.href);
    const { issuer } = authorization;
    await work.openPage({ server: server.name, issuer, url: page.href, startUrl });
    const returned = await listener.returned(signal);
    const code = codeOf(returned, authorization);
    const tokens = await exchangeAuthorization(authorization.url, {
      ...sdkParts(authorization),
      ...{ clientInformation: clientInformation(client), authorizationCode: code, codeVerifier },
      ...{ redirectUri: listener.redirectUri, fetchFn, ...issOf(returned) },
    });
    return loginOf(client, issuedTokens(tokens, { scope }));
  } finally {
    await listener.close();
  }
}

async function logInByCode(work: PageWork): Promise<McpLogin> {
  const client = await findClient(work, undefined);
  const tokens = await deviceLogin({ ...work, client });
  return loginOf(client, { ...tokens, scope: tokens.scope ?? work.scope });
}

function loginOf(client: McpLogin, tokens: IssuedTokens): McpLogin {
  const { neededScope: _granted, refreshToken: _old, ...rest } = client;
  return { ...rest, ...tokens };
}

function sdkParts({ metadata, resource }: AuthorizationServer) {
  return { ...(metadata && { metadata }), resource };
}

function issOf(returned: URLSearchParams): { readonly iss?: string } {
  const iss = returned.get('iss');
  return iss === null ? {} : { iss };
}

/**
 * Returns the authorization code with which the browser returned from the login page. The issuer is checked
 * first, because an error text is reliable only if it comes from this issuer.
 */
function codeOf(returned: URLSearchParams, authorization: AuthorizationServer): string {
  validateAuthorizationResponseIssuer({
    iss: issOf(returned).iss,
    expectedIssuer: authorization.metadata?.issuer,
    issParameterSupported: namesIssuer(authorization),
  });
  const code = returned.get('code');
  if (code !== null && code !== '') return code;
  throw new Error(`the login page refused it (${clip(returned.get('error') ?? 'no code', 100)})`);
}

/** True if each return from the login page must contain the issuer. */
function namesIssuer({ metadata }: AuthorizationServer): boolean {
  return metadata?.authorization_response_iss_parameter_supported === true;
}

/** Listens on the port of the earlier login, because the authorization server may know only that address. */
async function openListener({ server, before }: LoginWork): Promise<RedirectListener> {
  const { redirectPort } = server.http.oauth;
  if (redirectPort !== undefined) return listenForRedirect({ port: redirectPort });
  const port = Number(URL.parse(before?.redirectUri ?? '')?.port ?? 0);
  return listenForRedirect({ port }).catch(() => listenForRedirect());
}

/** Returns the identity of this client at the authorization server. If there is none, the client registers. */
async function findClient(work: LoginWork, redirectUri: string | undefined): Promise<McpLogin> {
  const { server, authorization, before, scope, fetchFn } = work;
  const { issuer, metadata } = authorization;
  const { clientId, clientSecret, clientMetadataUrl } = server.http.oauth;
  const own = { issuer, redirectUri };
  if (clientId !== undefined) return { ...own, clientId, clientSecret };
  if (metadata?.client_id_metadata_document_supported === true && clientMetadataUrl !== undefined)
    return { ...own, clientId: clientMetadataUrl };
  if (before !== undefined && before.redirectUri === redirectUri) return before;
  const registered = await registerClient(authorization.url, {
    ...(metadata && { metadata }),
    ...(scope !== undefined && { scope }),
    fetchFn,
    clientMetadata: {
      client_name: 'Millrace',
      redirect_uris: redirectUri === undefined ? [] : [redirectUri],
      grant_types: [
        redirectUri === undefined ? deviceGrant : 'authorization_code',
        'refresh_token',
      ],
      response_types: redirectUri === undefined ? [] : ['code'],
      token_endpoint_auth_method: authMethod(metadata?.token_endpoint_auth_methods_supported),
      application_type: 'native',
    },
  });
  const { client_id, client_secret, token_endpoint_auth_method } = registered;
  const secret = { clientSecret: client_secret, authMethod: token_endpoint_auth_method };
  return { ...own, clientId: client_id, ...secret };
}

/** A program on the user's machine cannot keep a secret, so it asks for one only if it must. */
function authMethod(supported: readonly string[] | undefined): string {
  if (supported === undefined || supported.includes('none')) return 'none';
  const known = ['client_secret_basic', 'client_secret_post'];
  return known.find((method) => supported.includes(method)) ?? 'none';
}

/** Selects the scopes: those that the server demands, else those that its metadata names. */
function scopeOf(
  { metadata, scopes }: AuthorizationServer,
  challenge: LoginChallenge,
  configured: string | undefined,
  before: McpLogin | undefined,
): string | undefined {
  const wanted = configured ?? challenge.scope ?? (scopes.join(' ') || undefined);
  const scope = joinScopes(before?.neededScope && before.scope, before?.neededScope, wanted);
  const hasOffline = metadata?.scopes_supported?.includes('offline_access') === true;
  return scope !== undefined && hasOffline ? joinScopes(scope, 'offline_access') : scope;
}

/** Sends a request without a token, and returns what the server says about the login. */
async function requestChallenge(server: OAuthServer, fetchFn: LoginFetch): Promise<LoginChallenge> {
  const params = {
    ...{ protocolVersion: '2025-11-25', capabilities: {} },
    clientInfo: { name: 'millrace', version: '0' },
  };
  const response = await fetchFn(server.http.url, {
    method: 'POST',
    headers: {
      ...server.http.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  });
  await response.body?.cancel();
  if (response.status !== 401) return {};
  const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
  return { scope, metadataUrl: resourceMetadataUrl };
}

async function revoke(server: OAuthServer, login: McpLogin): Promise<void> {
  const fetchFn = loginFetch(server, AbortSignal.timeout(revokeTimeoutMs));
  const found = await findAuthorizationServer(server, {}, fetchFn);
  const endpoint = extraEndpoint(found, 'revocation_endpoint');
  if (endpoint === undefined || !isSameIssuer(found.issuer, login.issuer)) return;
  const token = login.refreshToken ?? login.accessToken;
  if (token === undefined) return;
  const body = new URLSearchParams({ token, client_id: login.clientId });
  if (login.clientSecret !== undefined) body.set('client_secret', login.clientSecret);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await fetchFn(endpoint, { method: 'POST', headers, body });
  await response.body?.cancel();
}

const revokeTimeoutMs = 10_000;

/** Describes an error without the body of a response, which can contain tokens. */
function describeProblem(error: unknown): string {
  if (OAuthError.isInstance(error))
    return `its authorization server refused it (${clip(error.code, 100)})`;
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'RegistrationRejectedError' && 'status' in error)
    return `its authorization server does not register this client (HTTP ${error.status})`;
  if (error.name === 'ZodError') return 'its metadata is not valid';
  return error.message;
}

function loginFailed({ name }: McpHttpServer, why: string): McpError {
  const message = `Cannot log in to MCP server ${name}: ${why}`;
  return new McpError('login_failed', message, { server: name });
}
