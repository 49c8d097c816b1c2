import { isIP } from 'node:net';
import { ServerError } from '../contract/server-error.ts';

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
