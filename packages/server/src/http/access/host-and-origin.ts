import { isIP } from 'node:net';
import { ServerError } from '../../contract/server-error.ts';

/**
 * Refuses requests for host names that do not belong to the server. This prevents DNS rebinding, an attack in
 * which a foreign web page reaches a local server. IP addresses are accepted, because an attacker cannot
 * rebind them.
 */
export function checkHost(host: string | undefined, named: ReadonlySet<string>): void {
  if (host === undefined)
    throw new ServerError('bad_request', 'Cannot answer a request without a host header');
  const name = hostName(host);
  if (name !== undefined && (isAddress(name) || isLocal(name) || named.has(name))) return;
  const message =
    'Cannot answer for this host: it is not a name of the server. Add it to `hosts`, or use the IP address';
  throw new ServerError('misdirected', message);
}

/** Returns the host name without the port. Returns undefined if the header is not a valid host. */
function hostName(host: string): string | undefined {
  const form = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;
  const [, name] = form.exec(host) ?? [];
  return name?.toLowerCase().replace(/\.$/, '');
}

/** Returns true if a host is a name that other machines can use: no IP address, and not localhost. */
export function isNamed(host: string): boolean {
  const name = hostName(host);
  return name !== undefined && !isAddress(name) && !isLocal(name);
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

/** Returns true for a loopback host. Only this machine can reach a server that listens on it. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return isLocal(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

interface OriginRequest {
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** The header `sec-fetch-site`. The browser sets it, and a web page cannot change it. */
  readonly site: string | string[] | undefined;
  /** True for the files of the page and for health checks. Links on pages of other sites may open them. */
  readonly isPublic: boolean;
}

/**
 * Returns the CORS headers for an allowed origin. It refuses every origin that is neither allowed nor the
 * server's own. It also refuses requests of other sites without an `Origin` header, for example for an image.
 */
export function checkOrigin(
  { origin, host, site, isPublic }: OriginRequest,
  allowed: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const isOwn = origin === undefined || isSameOrigin(origin, host);
  // `none` means that the user typed the address. Only browsers send this header.
  const isOwnSite = site === undefined || site === 'same-origin' || site === 'none';
  if (isOwn && (isOwnSite || (isPublic && origin === undefined))) return {};
  if (origin === undefined || !allowed.has(origin)) {
    const message = 'Cannot answer a page of this origin. Add the origin to `origins` to allow it';
    throw new ServerError('forbidden', message);
  }
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers':
      'x-next-cursor, x-request-id, mcp-session-id, retry-after, etag, location, stream-next-offset, stream-cursor, stream-up-to-date, stream-closed, stream-ttl, stream-expires-at, stream-sse-data-encoding, producer-epoch, producer-seq, producer-expected-seq, producer-received-seq',
    vary: 'origin',
  };
}

/** The headers of the response to a CORS preflight request. */
export const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, idempotency-key, if-none-match, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, millrace-on-close, producer-epoch, producer-id, producer-seq, stream-closed, stream-expires-at, stream-fork-offset, stream-fork-sub-offset, stream-forked-from, stream-seq, stream-ttl, traceparent, tracestate, x-agent-api-key, x-request-id',
  'access-control-max-age': '600',
};

function isSameOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
