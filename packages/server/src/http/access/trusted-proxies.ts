import { type BlockList, isIP } from 'node:net';
import type { HttpRequest } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';
import { addressKind, parseNetworks } from '../../network/address-kind.ts';
import { isNamed } from './host-and-origin.ts';

/** The client and the host of a request, as trusted proxies report them in headers. */
export interface ForwardedRequest {
  /** The address of the client. */
  readonly address: string;
  /** The host that the client requested. */
  readonly host: string | undefined;
  /** The scheme with which the client reaches the server. */
  readonly scheme: 'http' | 'https';
}

const kinds: readonly string[] = ['loopback', 'private'];

/**
 * The trusted proxies. The server reads `X-Forwarded-For` and `X-Forwarded-Host` only from these addresses,
 * because any client can send these headers. `X-Forwarded-Proto` contains the scheme.
 */
export class TrustedProxies {
  readonly #kinds: ReadonlySet<string>;
  readonly #networks: BlockList;

  /**
   * Creates the list from entries such as `loopback`, `private`, addresses (`10.1.2.3`) and networks
   * (`10.1.0.0/16`).
   */
  constructor(trusted: readonly string[]) {
    const networks = trusted.filter((name) => !kinds.includes(name)).map(asNetwork);
    const list = parseNetworks(networks);
    if (list === undefined) throw invalidProxies();
    this.#kinds = new Set(trusted.filter((name) => kinds.includes(name)));
    this.#networks = list;
  }

  /** Returns the client and the host of a request. It ignores the headers of senders that are not trusted. */
  read({ address, headers }: Pick<HttpRequest, 'address' | 'headers'>): ForwardedRequest {
    const schemes = listed(headers['x-forwarded-proto']).map((scheme) => scheme.toLowerCase());
    const isSecure = schemes.includes('https');
    // Every sender can claim `https`, because the claim changes only the links that it receives itself.
    if (!this.#has(address))
      return { address, host: headers.host, scheme: isSecure ? 'https' : 'http' };
    const host = listed(headers['x-forwarded-host']).at(-1) ?? headers.host;
    // A proxy that serves a name to others uses TLS. A link with `http` would expose the client's token.
    const isAssumed = schemes.length === 0 && host !== undefined && isNamed(host);
    const scheme = isSecure || isAssumed ? 'https' : 'http';
    return { address: this.#clientBehind(address, headers), host, scheme };
  }

  /**
   * Returns the last address in the header that is not a trusted proxy. Each proxy appends the address of its
   * sender, so a client can invent only the entries before this address.
   */
  #clientBehind(peer: string, headers: HttpRequest['headers']): string {
    let client = peer;
    for (const sender of listed(headers['x-forwarded-for']).toReversed()) {
      const address = plainAddress(sender);
      if (!this.#has(client) || address === undefined) return client;
      client = address;
    }
    return client;
  }

  #has(address: string): boolean {
    if (this.#kinds.has(addressKind(address))) return true;
    const plain = address.replace(/^::ffff:/i, '').split('%', 1)[0] ?? '';
    const version = isIP(plain);
    return version !== 0 && this.#networks.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }
}

/** Splits a header that contains a list. Entries can be empty. Node joins repeated headers with commas. */
export function entriesOf(header: string | string[] | undefined): readonly string[] {
  const entries = [header ?? []].flat().flatMap((text) => text.split(','));
  return entries.map((entry) => entry.trim());
}

function listed(header: string | string[] | undefined): readonly string[] {
  return entriesOf(header).filter((entry) => entry !== '');
}

/** Returns an address without its port and brackets. Returns undefined if the entry is not an address. */
function plainAddress(entry: string): string | undefined {
  const inBrackets = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1];
  const address = inBrackets ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(entry)?.[1] ?? entry;
  return isIP(address) === 0 ? undefined : address;
}

function asNetwork(name: string): string {
  const version = isIP(name);
  return version === 0 ? name : `${name}/${version === 4 ? 32 : 128}`;
}

function invalidProxies(): ServerError {
  const message =
    'Cannot use these trusted proxies. Write loopback, private, addresses such as 10.1.2.3, or networks such as 10.1.0.0/16';
  return new ServerError('invalid', message);
}
