import { isIP } from 'node:net';
import { ServerError } from '../../contract/server-error.ts';

/**
 * Refuses requests that were sent to another name, which is how a page of somebody else reaches a
 * server on this machine (DNS rebinding). An address is no name, and cannot be rebound.
 */
export function checkHost(host: string | undefined, named: ReadonlySet<string>): void {
  if (host === undefined)
    throw new ServerError('bad_request', 'Cannot answer a request that names no host');
  const name = hostName(host);
  if (name !== undefined && (isAddress(name) || isLocal(name) || named.has(name))) return;
  const message =
    'Cannot answer for this host: the server does not know it as its own. Add it to `hosts`, or use its address';
  throw new ServerError('misdirected', message);
}

/** Without the port; undefined where it is no host at all. */
function hostName(host: string): string | undefined {
  const form = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;
  const [, name] = form.exec(host) ?? [];
  return name?.toLowerCase().replace(/\.$/, '');
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

/** Does what listens there hear only this machine? */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return isLocal(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

interface OriginRequest {
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/** The headers that let a page of a named origin read the answer; others than it and our own are refused. */
export function checkOrigin(
  { origin, host }: OriginRequest,
  allowed: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  if (origin === undefined || isSameOrigin(origin, host)) return {};
  if (!allowed.has(origin)) {
    const message = 'Cannot answer to a page of this origin. Add it to `origins` if it may ask';
    throw new ServerError('forbidden', message);
  }
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'x-next-cursor, x-request-id, retry-after',
    vary: 'origin',
  };
}

/** What a browser asks before it lets a page of another origin ask. */
export const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, idempotency-key, last-event-id, traceparent, tracestate, x-agent-api-key, x-request-id',
  'access-control-max-age': '600',
};

function isSameOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
