import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ServerError } from '../../contract/server-error.ts';
import { fullScope, type Scope } from '../../contract/service.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { Reply, type Route } from '../route.ts';
import { checkHost, checkOrigin, preflightHeaders } from './host-and-origin.ts';
import type { RateLimit } from './rate-limit.ts';
import { type TokenStore, tokenId } from './token-store.ts';

/** Who may ask at all. */
export interface AccessPolicy {
  /** Names under which the server is known, besides addresses and localhost. */
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
  readonly rateLimit: RateLimit;
  readonly tokens: TokenStore;
  readonly isTokenRequired: () => boolean;
  readonly closing: AbortSignal;
}

const retryAfterMs = 1000;

/** Lets a request through, or answers it. */
export async function checkAccess(
  answered: HttpExchange,
  gate: AccessPolicy,
  route: Route | undefined,
): Promise<void> {
  try {
    await checkRequest(answered, gate, route);
  } catch (error) {
    await answered.sendError(error);
  }
}

async function checkRequest(
  answered: HttpExchange,
  gate: AccessPolicy,
  route: Route | undefined,
): Promise<void> {
  const { request, response } = answered;
  const { host, origin } = request.headers;
  checkSingleHost(request.raw);
  checkHost(host, gate.hosts);
  const cors = checkOrigin({ origin, host }, gate.origins);
  for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
  checkEncoding(request.headers['content-encoding']);
  if (gate.closing.aborted) throw serverClosing(answered);
  if (request.method === 'OPTIONS' && origin !== undefined && Object.keys(cors).length > 0) {
    await answered.send(new Reply(undefined, { status: 204, headers: preflightHeaders }));
    return;
  }
  answered.caller = `address ${request.ip}`;
  answered.scope = await authorize(answered, gate, route);
  if (route?.access === 'all' && answered.scope.kind !== 'all') {
    const message = 'Cannot do this with a token for one agent or task. Use one for all';
    throw new ServerError('forbidden', message);
  }
}

/** Of two that differ, who stands between may go by the other one. */
function checkSingleHost({ headersDistinct, url = '' }: IncomingMessage): void {
  if ((headersDistinct['host']?.length ?? 0) <= 1 && url.startsWith('/')) return;
  const message = 'Cannot tell which host is asked. Send one host, and a path that begins with /';
  throw new ServerError('bad_request', message);
}

/** What is packed could be anything when it is unpacked, and of any size. */
function checkEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  const message = 'Cannot take a body that is packed. Send it without content-encoding';
  throw new ServerError('unsupported_media_type', message);
}

/** Callers with a token are counted by it, all others by where they are. */
async function authorize(
  answered: HttpExchange,
  { tokens, isTokenRequired, rateLimit }: AccessPolicy,
  route: Route | undefined,
): Promise<Scope> {
  if (route?.access === 'public') {
    rateLimit.take(answered.caller);
    return fullScope;
  }
  try {
    const { name, scope } = await authenticate(answered.request.headers, tokens, isTokenRequired());
    answered.caller = name ?? answered.caller;
    rateLimit.take(answered.caller);
    return scope;
  } catch (error) {
    // Whoever guesses is slowed down too.
    if (error instanceof ServerError && error.code === 'unauthorized')
      rateLimit.take(answered.caller);
    throw error;
  }
}

function serverClosing({ response }: HttpExchange): ServerError {
  response.setHeader('connection', 'close');
  const message = 'Cannot take more work: the server closes. Ask again in a moment';
  return new ServerError('unavailable', message, {}, { retryAfterMs });
}

interface Caller {
  /** The name of the token; undefined without one. */
  readonly name: string | undefined;
  readonly scope: Scope;
}

const maxTokenLength = 4096;

/** Who asks. A token that nobody gave is refused also where none is needed. */
async function authenticate(
  headers: IncomingHttpHeaders,
  tokens: TokenStore,
  isTokenRequired: boolean,
): Promise<Caller> {
  const token = readToken(headers);
  if (token === undefined) {
    if (!isTokenRequired) return { name: undefined, scope: fullScope };
    const message = 'Cannot answer without a token. Send one as `authorization: Bearer …`';
    throw new ServerError('unauthorized', message);
  }
  const canBe = token.length > 0 && token.length <= maxTokenLength;
  const scope = canBe ? await tokens.scopeOf(token) : undefined;
  if (scope !== undefined) return { name: callerOfToken(tokenId(token)), scope };
  const message = 'Cannot take this token: it was never given, or was revoked. Ask for another';
  throw new ServerError('unauthorized', message);
}

function readToken(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'x-agent-api-key': key } = headers;
  if (typeof key === 'string') return key;
  if (authorization === undefined) return undefined;
  // What has another scheme is a token that is none.
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/** By which its requests and streams are known. */
export function callerOfToken(id: string): string {
  return `token ${id}`;
}
