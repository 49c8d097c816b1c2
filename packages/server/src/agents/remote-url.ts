import { BlockList, isIP } from 'node:net';
import { ServerError } from '../contract/server-error.ts';

/**
 * Where no agent lives, and where clouds tell a machine its secrets. This machine and the network beside
 * it are allowed: that is where agents run, and whoever registers one has a token where there are any.
 * A name is taken as it is: what it resolves to is up to the network's own rules.
 */
const forbidden = new BlockList();
forbidden.addSubnet('169.254.0.0', 16);
forbidden.addAddress('100.100.100.200');
forbidden.addAddress('192.0.0.192');
forbidden.addSubnet('224.0.0.0', 3);
forbidden.addSubnet('fe80::', 10, 'ipv6');
forbidden.addSubnet('ff00::', 8, 'ipv6');
forbidden.addSubnet('fd00:ec2::', 32, 'ipv6');

const forbiddenNames = new Set(['metadata', 'metadata.google.internal', 'instance-data']);

/** Throws where an agent could not be called, or is not to be. */
export function assertRemoteUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  // A query or a fragment would swallow the path that is called below it.
  const isPlain = isHttp && !/[?#]/.test(text) && url.username === '' && url.password === '';
  if (!isPlain) {
    const message =
      'Cannot register an agent there: acp_url is an http or https address without a user, a query or a fragment in it';
    throw new ServerError('invalid', message);
  }
  if (!isForbidden(url.hostname)) return;
  const message =
    'Cannot register an agent there: that address is for the machine itself, or for many. Use the one at which the agent listens';
  throw new ServerError('invalid', message);
}

function isForbidden(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const version = isIP(host);
  if (version === 0) return forbiddenNames.has(host);
  return forbidden.check(host, version === 6 ? 'ipv6' : 'ipv4');
}
