import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { McpLogin, OpenLoginPage } from '../../contract/mcp-oauth.ts';
import type { McpHttpServer } from '../../contract/mcp-server.ts';
import { type AuthorizationServer, assertOwnPage, extraEndpoint } from './authorization-server.ts';
import { assertPageAllowed, type LoginFetch } from './guarded-fetch.ts';
import { type IssuedTokens, issuedTokens } from './issued-tokens.ts';

/** The name of the device flow in the metadata and in requests. */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

const started = z.object({
  device_code: z.string().min(1),
  user_code: z.string().regex(/^[\x21-\x7e]{1,64}$/),
  verification_uri: z.string(),
  verification_uri_complete: z.string().optional(),
  expires_in: z.number().positive(),
  interval: z.number().nonnegative().optional(),
});

const refused = z.object({ error: z.string() });

const defaultIntervalS = 5;
const maxIntervalS = 60;
const slowDownS = 5;

interface DeviceLogin {
  readonly server: McpHttpServer;
  readonly authorization: AuthorizationServer;
  readonly client: McpLogin;
  readonly scope: string | undefined;
  readonly openPage: OpenLoginPage;
  readonly fetchFn: LoginFetch;
  readonly signal: AbortSignal;
}

/** Logs in on another device: the user opens a page there and enters a code (RFC 8628). */
export async function deviceLogin(login: DeviceLogin): Promise<IssuedTokens> {
  const { server, authorization, client, scope, signal } = login;
  const endpoint = extraEndpoint(authorization, 'device_authorization_endpoint');
  if (endpoint === undefined)
    throw new Error('its authorization server does not offer logins with a code');
  const resource = authorization.resource;
  const first = await post(login, endpoint, { ...(scope !== undefined && { scope }), resource });
  const given = started.safeParse(first.body);
  if (!given.success) throw new Error(`the login with a code was refused (${first.problem})`);
  const { user_code: userCode, verification_uri, device_code, expires_in } = given.data;
  const page = assertPageAllowed(server, verification_uri);
  await assertOwnPage(server, authorization, page, false);
  const { issuer } = authorization;
  await login.openPage({ server: server.name, issuer, url: page.href, userCode });
  const expiry = AbortSignal.timeout(Math.min(expires_in * 1_000, 2 ** 31 - 1));
  const until = AbortSignal.any([signal, expiry]);
  const tokenEndpoint = authorization.metadata?.token_endpoint ?? `${authorization.url}/token`;
  const form = { grant_type: deviceGrant, device_code, resource };
  let intervalS = Math.max(1, given.data.interval ?? defaultIntervalS);
  while (true) {
    await delay(Math.min(intervalS, maxIntervalS) * 1_000, undefined, { signal: until }).catch(
      () => {
        signal.throwIfAborted();
        throw new Error('the code expired before the login was finished');
      },
    );
    const { isOk, body, problem } = await post(login, tokenEndpoint, form);
    if (isOk) return issuedTokens(body, client);
    if (problem === 'slow_down') intervalS += slowDownS;
    else if (problem !== 'authorization_pending')
      throw new Error(`the login with a code was refused (${problem})`);
  }
}

async function post(
  { client, fetchFn }: DeviceLogin,
  endpoint: string,
  fields: Readonly<Record<string, string>>,
): Promise<{ readonly isOk: boolean; readonly body: unknown; readonly problem: string }> {
  const body = new URLSearchParams({ ...fields, client_id: client.clientId });
  if (client.clientSecret !== undefined) body.set('client_secret', client.clientSecret);
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  const response = await fetchFn(endpoint, { method: 'POST', headers, body });
  const answer: unknown = await response.json().catch(() => undefined);
  const said = refused.safeParse(answer);
  const problem = said.success ? said.data.error.slice(0, 100) : `HTTP ${response.status}`;
  return { isOk: response.ok, body: answer, problem };
}
