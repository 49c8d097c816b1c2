import type { IncomingHttpHeaders } from 'node:http';
import type { HttpRequest, IncomingRequest } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';
import { fullGrant, type Grant } from '../../contract/service.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { Reply, type Route } from '../route.ts';
import {
  type Authorize,
  authorizedBy,
  grantOf,
  incomingRequest,
  isSameUser,
} from './authorized-user.ts';
import { admitConnection } from './connection-limit.ts';
import { checkHost, checkOrigin, isLoopback, preflightHeaders } from './host-and-origin.ts';
import type { GuessLimit, RateLimit } from './rate-limit.ts';
import { type TokenStore, tokenId } from './token-store.ts';
import { entriesOf, type TrustedProxies } from './trusted-proxies.ts';

/** The rules by which the server accepts requests. */
export interface AccessPolicy {
  /** Host names of the server, in addition to IP addresses and localhost. */
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
  readonly rateLimit: RateLimit;
  readonly guessLimit: GuessLimit;
  readonly tokens: TokenStore;
  readonly closing: AbortSignal;
  /** Authorizes requests without a token. Default: such requests are refused. */
  readonly authorize?: Authorize | undefined;
  /** Returns the client's address. Default: the address of the connection. */
  readonly clientAddress?: ClientAddress | undefined;
  /** The proxies whose headers contain the client's address and the host. */
  readonly proxies: TrustedProxies;
}

export type ClientAddress = (request: IncomingRequest) => string | undefined;

const retryAfterMs = 1000;

/**
 * Checks the host, the origin, the encoding, the token and the rate of a request. Throws if a check fails.
 * Returns `answered` for a CORS preflight request, because this function answers it itself.
 */
export async function checkAccess(
  exchange: HttpExchange,
  policy: AccessPolicy,
  route: Route | undefined,
): Promise<'allowed' | 'answered'> {
  const { request, response } = exchange;
  const { origin } = request.headers;
  checkSingleHost(request);
  const { address, host, scheme } = policy.proxies.read(request);
  exchange.address = address;
  checkHost(host, policy.hosts);
  exchange.origin = `${scheme}://${host}`;
  const isPublic = route?.access === 'public';
  exchange.isPublic = isPublic;
  const site = request.headers['sec-fetch-site'];
  const cors = checkOrigin({ origin, host, site, isPublic }, policy.origins);
  for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
  checkEncoding(request.headers['content-encoding']);
  if (policy.closing.aborted) throw serverClosing(exchange);
  if (request.method === 'OPTIONS' && origin !== undefined && Object.keys(cors).length > 0) {
    exchange.send(new Reply(undefined, { status: 204, headers: preflightHeaders }));
    return 'answered';
  }
  if (policy.clientAddress !== undefined)
    exchange.address = policy.clientAddress(incomingRequest(request)) || address;
  exchange.caller = `address ${exchange.address}`;
  exchange.grant = await authorize(exchange, policy, isPublic ? route.path : undefined);
  exchange.markAdmitted();
  if (!isPublic) admitConnection(request.source, exchange);
  checkRights(exchange.grant, request.method, route);
  return 'allowed';
}

/**
 * Throws if the caller may not use the route. A read-only token can use only GET and HEAD, because these
 * routes change nothing.
 */
export function checkRights(grant: Grant, method: string, route: Route | undefined): void {
  if (route?.access === 'all' && grant.scope.kind !== 'all') {
    const message = 'Cannot do this with a token for one agent or task. Use a token for everything';
    throw new ServerError('forbidden', message);
  }
  if (!grant.isReadOnly || method === 'GET' || method === 'HEAD') return;
  const message = 'Cannot change anything with a read-only token. Use another token';
  throw new ServerError('forbidden', message);
}

/**
 * Refuses a request with two host headers, because a proxy in front of the server could read a different one
 * than the server.
 */
function checkSingleHost({ hasSeveralHosts, url }: HttpRequest): void {
  if (!hasSeveralHosts && url.startsWith('/')) return;
  const message =
    'Cannot determine the host of the request. Send one host header and a path that starts with /';
  throw new ServerError('bad_request', message);
}

/** Refuses compressed bodies, because their size after decompression is unknown. */
function checkEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  const message = 'Cannot accept a compressed body. Send it without content-encoding';
  throw new ServerError('unsupported_media_type', message);
}

/**
 * Authenticates the caller and counts the request. The rate limit applies per token, or per address for a
 * request without a token. For a public route, it applies per address and path.
 */
async function authorize(
  exchange: HttpExchange,
  policy: AccessPolicy,
  publicPath: string | undefined,
): Promise<Grant> {
  const { rateLimit, tokens } = policy;
  const isPublic = publicPath !== undefined;
  const token = isPublic ? undefined : readToken(exchange.request.headers);
  const grant = token === undefined ? undefined : await findGrant(token, exchange, policy);
  if (token !== undefined && grant !== undefined) {
    const id = tokenId(token);
    exchange.caller = callerOfToken(id);
    exchange.currentGrant = async () => ((await tokens.isValid(id)) ? grant : undefined);
    rateLimit.take(exchange.caller);
    return grant;
  }
  const access = isPublic ? undefined : await authorizedBy(policy.authorize, exchange.request);
  if (access !== undefined) {
    exchange.caller = `user ${access.user}`;
    exchange.currentGrant = async () => {
      const now = await authorizedBy(policy.authorize, exchange.request);
      return isSameUser(now, access) ? grantOf(now) : undefined;
    };
    exchange.isUserAdmitted = async () => (await exchange.currentGrant()) !== undefined;
  }
  // Requests for one public path leave the others available, for example health checks behind the same proxy.
  rateLimit.take(isPublic ? `${exchange.caller} ${publicPath}` : exchange.caller);
  if (access !== undefined) return grantOf(access);
  if (isPublic) return fullGrant;
  if (tokens.isRequired || policy.authorize !== undefined) {
    const message = 'Cannot answer without a token. Send it as `authorization: Bearer …`';
    throw new ServerError('unauthorized', message);
  }
  assertLocal(exchange, policy);
  return fullGrant;
}

/**
 * Throws if the request may come from a different machine. Without tokens, only users of this machine may use
 * the server. A web page can send `X-Forwarded-Host`, but it cannot set `Host`. Therefore `Host` is checked
 * too.
 */
function assertLocal(
  { address, request }: HttpExchange,
  { clientAddress, hosts }: AccessPolicy,
): void {
  checkHost(request.headers.host, hosts);
  const senders = clientAddress === undefined ? forwardedFor(request.headers) : [];
  if ([address, ...senders].every(isThisMachine)) return;
  const message =
    'Cannot answer a request that may come from another machine: the server has no tokens. Set `tokens`, or `authorize` to use the sign-in of your application';
  throw new ServerError('unauthorized', message);
}

function isThisMachine(address: string): boolean {
  return isLoopback(address.replace(/^::ffff:/i, ''));
}

/**
 * Returns the client addresses that a proxy on this machine wrote into the request headers. An address is
 * empty if the header has no value for it.
 */
function forwardedFor(headers: IncomingHttpHeaders): readonly string[] {
  const forwarded = entriesOf(headers['forwarded']).map(
    (element) => /(?:^|;)\s*for="?(\[[^\]]*\]|[^:;"]*)/i.exec(element)?.[1] ?? '',
  );
  const others = ['x-forwarded-for', 'x-real-ip'].flatMap((name) => entriesOf(headers[name]));
  return [...others, ...forwarded.map((address) => address.trim())];
}

function serverClosing({ response }: HttpExchange): ServerError {
  response.setHeader('connection', 'close');
  const message = 'Cannot accept requests: the server is closing. Retry in a moment';
  return new ServerError('unavailable', message, {}, { retryAfterMs });
}

const maxTokenLength = 4096;

/**
 * Returns the rights that a token gives. Throws if the token is unknown. A server that requires no token
 * ignores an unknown bearer token, because many clients always send one. Such a server still refuses an
 * unknown agent key, because the agent expects the rights of its own key.
 */
async function findGrant(
  token: string,
  { address, request }: HttpExchange,
  { tokens, guessLimit }: AccessPolicy,
): Promise<Grant | undefined> {
  const isPlausible = token.length > 0 && token.length <= maxTokenLength;
  const operator = isPlausible ? tokens.operatorGrant(token) : undefined;
  if (operator !== undefined) return operator;
  const issued = isPlausible
    ? await tokens.issuedGrant(token, guessLimit.isReached(address))
    : undefined;
  if (issued !== undefined) return issued;
  if (!tokens.isRequired && request.headers['x-agent-api-key'] === undefined) return undefined;
  guessLimit.failed(address);
  const message = 'Cannot accept this token: it is unknown, expired or revoked. Request a new one';
  throw new ServerError('unauthorized', message);
}

function readToken(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'x-agent-api-key': key } = headers;
  if (typeof key === 'string') return key;
  if (authorization === undefined) return undefined;
  // A scheme other than Bearer counts as an invalid token, not as a missing token.
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/** Returns the key under which requests and open streams of a token are counted. */
export function callerOfToken(id: string): string {
  return `token ${id}`;
}

/** Returns the id of the token of a caller. Returns undefined if the caller has no token. */
export function tokenOfCaller(caller: string): string | undefined {
  return /^token (.+)$/.exec(caller)?.[1];
}
