import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ServerError } from '../../contract/server-error.ts';
import { fullScope, type Scope } from '../../contract/service.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { Reply, type Route } from '../route.ts';
import { checkHost, checkOrigin, preflightHeaders } from './host-and-origin.ts';
import type { RateLimit } from './rate-limit.ts';
import { type TokenStore, tokenId } from './token-store.ts';

/** Decides which requests the server accepts. */
export interface AccessPolicy {
  /** Host names of the server, in addition to IP addresses and localhost. */
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
  readonly rateLimit: RateLimit;
  readonly tokens: TokenStore;
  readonly isTokenRequired: () => boolean;
  readonly closing: AbortSignal;
}

const retryAfterMs = 1000;

/** Checks host, origin, encoding, token and rate of a request. Sends an error if a check fails. */
export async function checkAccess(
  exchange: HttpExchange,
  policy: AccessPolicy,
  route: Route | undefined,
): Promise<void> {
  try {
    await checkRequest(exchange, policy, route);
  } catch (error) {
    await exchange.sendError(error);
  }
}

async function checkRequest(
  exchange: HttpExchange,
  policy: AccessPolicy,
  route: Route | undefined,
): Promise<void> {
  const { request, response } = exchange;
  const { host, origin } = request.headers;
  checkSingleHost(request.raw);
  checkHost(host, policy.hosts);
  const cors = checkOrigin({ origin, host }, policy.origins);
  for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
  checkEncoding(request.headers['content-encoding']);
  if (policy.closing.aborted) throw serverClosing(exchange);
  if (request.method === 'OPTIONS' && origin !== undefined && Object.keys(cors).length > 0) {
    await exchange.send(new Reply(undefined, { status: 204, headers: preflightHeaders }));
    return;
  }
  exchange.caller = `address ${request.ip}`;
  exchange.scope = await authorize(exchange, policy, route);
  if (route?.access === 'all' && exchange.scope.kind !== 'all') {
    const message = 'Cannot do this with a token for one agent or task. Use a token for everything';
    throw new ServerError('forbidden', message);
  }
}

/** With two different hosts, a proxy in front of the server could use the other one. */
function checkSingleHost({ headersDistinct, url = '' }: IncomingMessage): void {
  if ((headersDistinct['host']?.length ?? 0) <= 1 && url.startsWith('/')) return;
  const message =
    'Cannot determine the host of the request. Send one host header and a path that starts with /';
  throw new ServerError('bad_request', message);
}

/** Compressed bodies are rejected, because their size after decompression is unknown. */
function checkEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  const message = 'Cannot accept a compressed body. Send it without content-encoding';
  throw new ServerError('unsupported_media_type', message);
}

/**
 * Authenticates the caller and counts the request. The rate limit applies per token, or per address
 * without a token.
 */
async function authorize(
  exchange: HttpExchange,
  { tokens, isTokenRequired, rateLimit }: AccessPolicy,
  route: Route | undefined,
): Promise<Scope> {
  if (route?.access === 'public') {
    rateLimit.take(exchange.caller);
    return fullScope;
  }
  try {
    const { name, scope } = await authenticate(exchange.request.headers, tokens, isTokenRequired());
    exchange.caller = name ?? exchange.caller;
    rateLimit.take(exchange.caller);
    return scope;
  } catch (error) {
    // Failed authentication counts too. This slows down clients that guess tokens.
    if (error instanceof ServerError && error.code === 'unauthorized')
      rateLimit.take(exchange.caller);
    throw error;
  }
}

function serverClosing({ response }: HttpExchange): ServerError {
  response.setHeader('connection', 'close');
  const message = 'Cannot accept requests: the server is closing. Retry in a moment';
  return new ServerError('unavailable', message, {}, { retryAfterMs });
}

interface Caller {
  /** Identifies the token. Undefined without a token. */
  readonly name: string | undefined;
  readonly scope: Scope;
}

const maxTokenLength = 4096;

/**
 * Finds the scope of the caller's token. An unknown token is rejected even if no token is required.
 */
async function authenticate(
  headers: IncomingHttpHeaders,
  tokens: TokenStore,
  isTokenRequired: boolean,
): Promise<Caller> {
  const token = readToken(headers);
  if (token === undefined) {
    if (!isTokenRequired) return { name: undefined, scope: fullScope };
    const message = 'Cannot answer without a token. Send it as `authorization: Bearer …`';
    throw new ServerError('unauthorized', message);
  }
  const isPlausible = token.length > 0 && token.length <= maxTokenLength;
  const scope = isPlausible ? await tokens.scopeOf(token) : undefined;
  if (scope !== undefined) return { name: callerOfToken(tokenId(token)), scope };
  const message = 'Cannot accept this token: it is unknown or revoked. Request a new one';
  throw new ServerError('unauthorized', message);
}

function readToken(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'x-agent-api-key': key } = headers;
  if (typeof key === 'string') return key;
  if (authorization === undefined) return undefined;
  // Another scheme than Bearer counts as an invalid token, not as a missing one.
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/** The caller key of a token. The rate limit and open streams are counted by it. */
export function callerOfToken(id: string): string {
  return `token ${id}`;
}
