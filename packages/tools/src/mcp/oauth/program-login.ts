import { createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { z } from 'zod';
import type { McpLogin, McpOAuth } from '../../contract/mcp-oauth.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import type { LoginFetch } from './guarded-fetch.ts';
import { type IssuedTokens, issuedTokens } from './issued-tokens.ts';

interface ProgramLogin {
  readonly oauth: McpOAuth;
  readonly authorization: AuthorizationServer;
  readonly client: McpLogin;
  readonly scope: string | undefined;
  readonly fetchFn: LoginFetch;
}

const refused = z.object({ error: z.string() });

/** Logs in as the program itself, without a user (RFC 6749, section 4.4). */
export async function programLogin(login: ProgramLogin): Promise<IssuedTokens> {
  const { oauth, authorization, client, scope, fetchFn } = login;
  const { metadata, url, resource } = authorization;
  const proof = proofOf(oauth, authorization);
  const body = new URLSearchParams({
    ...{ grant_type: 'client_credentials', resource, ...proof.fields },
    ...(scope !== undefined && { scope }),
  });
  const response = await fetchFn(metadata?.token_endpoint ?? `${url}/token`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      ...proof.headers,
    },
    body,
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return issuedTokens(answer, client);
  const said = refused.safeParse(answer);
  const problem = said.success ? said.data.error.slice(0, 100) : `HTTP ${response.status}`;
  throw new Error(`the login of the program was refused (${problem})`);
}

interface Proof {
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns what proves to the token endpoint that the request is from this client. */
function proofOf(
  { clientId, clientSecret, privateKey }: McpOAuth,
  { issuer, metadata }: AuthorizationServer,
): Proof {
  if (clientId === undefined) throw new Error('the login of a program needs a clientId');
  if (privateKey !== undefined) {
    const fields = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion(clientId, issuer, privateKey),
    };
    return { fields, headers: {} };
  }
  if (clientSecret === undefined)
    throw new Error('the login of a program needs a clientSecret or a privateKey');
  const methods = metadata?.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  if (!methods.includes('client_secret_basic') && methods.includes('client_secret_post'))
    return { fields: { client_id: clientId, client_secret: clientSecret }, headers: {} };
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return {
    fields: {},
    headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
  };
}

/** Encodes a text as in a form. The header of a client needs this (RFC 6749, section 2.3.1). */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

const assertionLifeS = 300;

/** Returns a signed text with which the client proves its identity to one issuer (RFC 7523). */
function assertion(clientId: string, issuer: string, pem: string): string {
  const key = readKey(pem);
  if (key === undefined) throw new Error('the privateKey is not a private key in the PEM format');
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    ...{ iss: clientId, sub: clientId, aud: issuer, jti: randomUUID() },
    ...{ iat: now, exp: now + assertionLifeS },
  };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = `${encode({ alg: algorithmOf(key), typ: 'JWT' })}.${encode(claims)}`;
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  const signature = sign(hash, Buffer.from(head), { key, dsaEncoding: 'ieee-p1363' });
  return `${head}.${signature.toString('base64url')}`;
}

/** Reads a key. The error of Node is left out, because it can contain parts of the key. */
function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject) {
  if (type === 'rsa') return 'RS256';
  if (type === 'ed25519') return 'EdDSA';
  if (type === 'ec' && details?.namedCurve === 'prime256v1') return 'ES256';
  throw new Error('the privateKey must be an RSA key, an Ed25519 key or a P-256 key');
}
