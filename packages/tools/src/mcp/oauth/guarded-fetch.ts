import { BlockList, isIP } from 'node:net';
import type { McpHttpServer } from '../../contract/mcp-server.ts';
import { fetchPage } from '../../web/fetch-page.ts';
import {
  anyLookup,
  assertPublicHost,
  isPublicAddress,
  notPublicError,
  publicLookup,
  systemResolver,
} from '../../web/public-address.ts';
import { boundedFetch, type Fetch } from '../transport/bounded-fetch.ts';

/** A function that sends one request of a login. */
export type LoginFetch = Fetch;

/**
 * The addresses that requests of a login may reach. The server chooses these addresses, so a server on the
 * internet must not reach services of this machine or of its network.
 */
type Reach = 'public' | 'private' | 'any';

const maxBodyBytes = 256 * 1024;
const maxRedirects = 3;
const timeoutMs = 30_000;

/**
 * Returns the `fetch` for requests of a login. Requests to the origin of the server use the function of the
 * server. Requests to other origins check the address when they connect. No request has headers of the server.
 */
export function loginFetch(server: McpHttpServer, signal: AbortSignal): LoginFetch {
  const { origin } = new URL(server.http.url);
  const own = boundedFetch(server.http.fetch ?? globalThis.fetch, maxBodyBytes);
  const reach = reachOf(server);
  return async (given, init = {}) => {
    const url = new URL(given);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    if (url.origin === origin) return own(url, { ...init, redirect: 'manual', signal: limit });
    try {
      assertAllowed(url, reach);
      return await fetchElsewhere(url, init, reach, limit);
    } catch (error) {
      signal.throwIfAborted();
      // `fetch` rejects with a TypeError, and the SDK stops the discovery only for this error.
      const why = error instanceof Error ? error.message : String(error);
      throw new TypeError(`Cannot request ${url.origin}: ${why}`, { cause: error });
    }
  };
}

async function fetchElsewhere(
  url: URL,
  { method = 'GET', headers, body }: RequestInit,
  reach: Reach,
  signal: AbortSignal,
): Promise<Response> {
  const isPost = method === 'POST';
  const page = await fetchPage(url, {
    ...{ maxBytes: maxBodyBytes, maxRedirects: isPost ? 0 : maxRedirects, signal },
    publicOnly: reach === 'public',
    lookup: { public: publicLookup, private: networkLookup, any: anyLookup }[reach](systemResolver),
    request: {
      ...{ method: isPost ? 'POST' : 'GET', agent: 'mcp' },
      headers: Object.fromEntries(new Headers(headers)),
      body: body === undefined || body === null ? undefined : String(body),
    },
  });
  if (page.type === 'moved') throw new Error('it redirects to another host');
  if (page.type === 'not_text') throw new Error('its response is not text');
  if (page.isCut) throw new Error(`its response has more than ${maxBodyBytes} bytes`);
  // A response with one of these statuses must not have a body.
  const text = [204, 205, 304].includes(page.status) ? null : page.text;
  return new Response(text, { status: page.status, headers: { 'content-type': page.mimeType } });
}

/** Throws if a server may not send the user or this program to an address. */
export function assertPageAllowed(server: McpHttpServer, page: string | URL): URL {
  const url = URL.parse(String(page));
  if (url === null) throw new Error('its login page has no valid address');
  const isOwn = url.origin === new URL(server.http.url).origin;
  if (!/^https?:$/.test(url.protocol)) throw new Error('its login page is not a web page');
  if (url.username !== '' || url.password !== '')
    throw new Error('the address of its login page contains a password');
  if (!isOwn) assertAllowed(url, reachOf(server));
  return url;
}

function assertAllowed(url: URL, reach: Reach): void {
  if (url.protocol !== 'https:' && (url.protocol !== 'http:' || reach === 'public'))
    throw new Error('its address does not use https');
  if (reach === 'public') {
    assertPublicHost(url);
    // A browser opens a login page, so no request checks the address of its name. A name without a dot is a name of
    // this machine or of its network.
    const host = hostOf(url.hostname);
    const hasDot = isIP(host) !== 0 || host.includes('.');
    if (!hasDot || canBeOwnMachine(host)) throw notPublicError();
  }
  if (reach === 'private' && canBeOwnMachine(url.hostname)) throw ownMachineError();
}

function reachOf({ http: { url, oauth } }: McpHttpServer): Reach {
  const host = hostOf(new URL(url).hostname);
  if (isLocalName(host)) return 'any';
  const isPrivateAddress = isIP(host) !== 0 && !isPublicAddress(host);
  return isPrivateAddress || oauth?.privateNetwork === true ? 'private' : 'public';
}

/**
 * Addresses of this machine, and of services that only this machine can reach, such as metadata services of
 * clouds. A mapped IPv6 address matches the network of its IPv4 address. The list must not contain
 * `::ffff:0:0/96`, because every IPv4 address matches it.
 */
const ownMachine = new BlockList();
/** IPv6 forms of these IPv4 addresses. A gateway of NAT64 or 6to4 forwards them to the IPv4 address. */
const gatewayForms = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['168.63.129.16', 32],
  ['100.100.100.200', 32],
  ['192.0.0.0', 24],
] as const) {
  ownMachine.addSubnet(network, bits, 'ipv4');
  for (const prefix of ['64:ff9b::', '::', '::ffff:0:'])
    gatewayForms.addSubnet(`${prefix}${network}`, 96 + bits, 'ipv6');
  const [a = 0, b = 0, c = 0, d = 0] = network.split('.').map(Number);
  const [high, low] = [a * 256 + b, c * 256 + d].map((group) => group.toString(16));
  gatewayForms.addSubnet(`2002:${high}:${low}::`, 16 + bits, 'ipv6');
}
// In this network, the operator chooses the place of the IPv4 address.
gatewayForms.addSubnet('64:ff9b:1::', 48, 'ipv6');
for (const [network, bits] of [
  ['::', 127],
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
  ['fd00:c1::', 32],
  ['fd00:42::', 32],
] as const)
  ownMachine.addSubnet(network, bits, 'ipv6');

function isLocalName(hostname: string): boolean {
  const host = hostOf(hostname);
  const family = isIP(host);
  if (family === 0) return host === 'localhost' || host.endsWith('.localhost');
  return ownMachine.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Names that usual files of hosts give to this machine. */
const hostsNames = /^(?:ip6-(?:localhost|loopback)|localhost[46])$|\.localdomain[46]?$/;

/** True if a host can lead to this machine: its names, its addresses, and forms of its addresses for gateways. */
function canBeOwnMachine(hostname: string): boolean {
  const host = hostOf(hostname);
  const isForm = isIP(host) === 6 && gatewayForms.check(host, 'ipv6');
  return isLocalName(host) || isForm || hostsNames.test(host);
}

const networkLookup: typeof publicLookup = (resolve) =>
  anyLookup((name, done) =>
    resolve(name, (error, addresses) => {
      const isOwn = addresses.some(({ address }) => canBeOwnMachine(address));
      done(error ?? (isOwn ? ownMachineError() : null), addresses);
    }),
  );

function hostOf(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function ownMachineError(): Error {
  return new Error('its address belongs to this machine');
}
