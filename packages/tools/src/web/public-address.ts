import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IPv4 networks that are not on the internet, or whose addresses are special. */
const reservedIpv4 = listOf('ipv4', [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  // A metadata service of Azure.
  '168.63.129.16/32',
]);

/** The only IPv6 network with public addresses. */
const publicIpv6 = listOf('ipv6', ['2000::/3']);

/** Parts of the public network that can contain an IPv4 address, or that are only for documents. */
const reservedIpv6 = listOf('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/** True if an IP address is on the public internet. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !reservedIpv4.check(address, 'ipv4');
    case 6:
      return (
        publicIpv6.check(address, 'ipv6') &&
        !reservedIpv6.check(address, 'ipv6') &&
        !/:5efe:[^:]*:?[^:]*$/i.test(address)
      );
    default:
      return false;
  }
}

/** Resolves a host name to all its addresses. */
export type ResolveHost = (
  name: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

export const systemResolver: ResolveHost = (name, done) =>
  systemLookup(name, { all: true }, (error, addresses) => done(error, addresses ?? []));

/**
 * Returns a `lookup` function for `net.connect`. It fails if one address of the name is not public. The check
 * is part of the connection, so a name cannot resolve to a different address after the check.
 */
export function publicLookup(resolve: ResolveHost): LookupFunction {
  return (name, options, done) =>
    resolve(name, (error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) return done(error ?? new Error('no address'), '');
      if (!addresses.every(({ address }) => isPublicAddress(address)))
        return done(notPublicError(), '');
      if (options.all) return done(null, [...addresses]);
      done(null, first.address, first.family);
    });
}

/** Returns a `lookup` function for `net.connect` that accepts all addresses. */
export function anyLookup(resolve: ResolveHost): LookupFunction {
  return (name, options, done) =>
    resolve(name, (error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) done(error ?? new Error('no address'), '');
      else if (options.all) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
}

/** Throws if the host of a URL is an IP address that is not public. Names are checked when they resolve. */
export function assertPublicHost({ hostname }: URL): void {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw notPublicError();
}

/** Returns the error for an address that is not on the public internet. */
export function notPublicError(): Error {
  return new Error('its address is not on the public internet. Use a command for local servers');
}

function listOf(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
