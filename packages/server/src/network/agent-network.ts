import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { type BlockList, isIP, type LookupFunction } from 'node:net';
import { ServerError } from '../contract/server-error.ts';
import { addressKind, parseNetworks } from './address-kind.ts';

/** Resolves a host name to all its addresses, like `dns.lookup`. */
export type Resolver = (
  name: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

const systemResolver: Resolver = (name, done) =>
  systemLookup(name, { all: true, order: 'verbatim' }, (error, addresses) =>
    done(error, addresses ?? []),
  );

/** The kinds of networks that `agentNetworks` can contain. */
const networkKinds = ['loopback', 'private', 'public'] as const;

/** The host names of metadata services. The server refuses them before it resolves them. */
const forbiddenNames = new Set([
  ...['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data'],
  ...['instance-data.ec2.internal', 'metadata.tencentyun.com', 'metadata.platformequinix.com'],
  ...['metadata.packet.net', 'rancher-metadata'],
]);

interface NetworkOptions {
  /** Resolves host names. Default: the resolver of the system. */
  readonly resolve?: Resolver | undefined;
  /** The name of the option with the networks, for error messages. Default: `agentNetworks`. */
  readonly option?: string | undefined;
}

/**
 * Decides to which addresses the server may connect when it calls a remote agent. It checks the addresses of
 * each connection. If a name later resolves to a different address, that address is checked too.
 */
export class AgentNetwork {
  readonly #kinds: Set<string>;
  readonly #networks: BlockList;
  readonly #resolve: Resolver;
  readonly #problems: Problems;

  /**
   * Creates the policy. `allowed` may contain `loopback`, `private`, `public`, and networks such as
   * `10.1.0.0/16`.
   */
  constructor(
    allowed: readonly string[],
    { resolve = systemResolver, option = 'agentNetworks' }: NetworkOptions = {},
  ) {
    const isKind = (name: string) => networkKinds.some((kind) => kind === name);
    const networks = parseNetworks(allowed.filter((name) => !isKind(name)));
    if (networks === undefined) throw invalidNetworks();
    this.#kinds = new Set(allowed.filter(isKind));
    this.#networks = networks;
    this.#problems = problemsOf(option);
    this.#resolve = resolve;
  }

  /** Allows one more kind of network. */
  allow(kind: (typeof networkKinds)[number]): void {
    this.#kinds.add(kind);
  }

  /**
   * Throws `invalid` if the server cannot or must not call an agent at this URL. Returns the kind of its most local
   * address. A name that cannot be resolved yet counts as a name of the internet.
   */
  async assertUrl(text: string): Promise<Locality> {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
    // A query or a fragment is refused, because the server appends a path to the URL.
    const isPlain = isHttp && !/[?#]/.test(text) && url.username === '' && url.password === '';
    if (!isPlain) {
      const message =
        'Cannot register the agent: acp_url must be an http or https URL without user, query and fragment';
      throw new ServerError('invalid', message);
    }
    const host = hostOf(url);
    // The addresses are read once, because the owner of the name can give a different answer each time.
    const addresses = await this.#addressesOf(host);
    const problem = this.#problemOfName(host) ?? this.#problemOfAll(addresses, mostLocalOf(host));
    if (problem !== undefined)
      throw new ServerError('invalid', `Cannot register the agent: ${problem}`);
    const kinds = addresses.map(({ address }) => addressKind(address));
    return localities.findLast((locality) => kinds.includes(locality)) ?? 'public';
  }

  /** Returns the policy for the connections to an agent at a URL. It has no addresses more local than `most`. */
  within(most: Locality): ConnectionPolicy {
    return {
      assertHost: (url) => this.#assertHost(url, most),
      lookup: this.#lookupWithin(most),
    };
  }

  /** Returns the addresses of a host. It does not resolve a name that is refused. */
  async #addressesOf(host: string): Promise<readonly Pick<LookupAddress, 'address'>[]> {
    if (isIP(host) !== 0) return [{ address: host }];
    if (this.#problemOfName(host) !== undefined) return [];
    const { promise, resolve } = Promise.withResolvers<readonly LookupAddress[]>();
    // A name that cannot be resolved yet has no address. The server checks it again at each connection.
    this.#resolve(host, (_error, addresses) => resolve(addresses));
    return promise;
  }

  /** Throws if the host of a URL is an address to which the server must not connect. */
  assertHost(url: URL): void {
    this.#assertHost(url, 'loopback');
  }

  /** Resolves a name for `net.connect`. It fails if the policy refuses any of the addresses. */
  get lookup(): LookupFunction {
    return this.#lookupWithin('loopback');
  }

  #assertHost(url: URL, most: Locality): void {
    const host = hostOf(url);
    const problem =
      isIP(host) === 0 ? this.#problemOfName(host) : this.#problemOfAddress(host, most);
    if (problem !== undefined) throw refusedAddress(problem);
  }

  #lookupWithin(most: Locality): LookupFunction {
    return (name, options, done) => {
      this.#resolve(name, (error, addresses) => {
        const problem = this.#problemOfAll(addresses, most);
        if (error !== null) done(error, '');
        else if (problem !== undefined) done(refusedAddress(problem), '');
        else giveAddresses(addresses, options, done);
      });
    };
  }

  #problemOfName(name: string): string | undefined {
    const isForbidden = forbiddenNames.has(name.toLowerCase().replace(/\.$/, ''));
    return isForbidden ? this.#problems.forbidden : undefined;
  }

  #problemOfAll(
    addresses: readonly Pick<LookupAddress, 'address'>[],
    most: Locality,
  ): string | undefined {
    for (const { address } of addresses) {
      const problem = this.#problemOfAddress(address, most);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /**
   * Returns the reason why an address is refused. Returns undefined if it is allowed. The text contains only
   * the kind of address, because the address itself may be confidential.
   */
  #problemOfAddress(address: string, most: Locality): string | undefined {
    const kind = addressKind(address);
    const isListed = () => this.#networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
    if (kind === 'forbidden' || !(this.#kinds.has(kind) || isListed())) return this.#problems[kind];
    return isMoreLocal(kind, most) ? movedProblems[most] : undefined;
  }
}

/** Decides about the connections to one agent. */
export type ConnectionPolicy = Pick<AgentNetwork, 'assertHost' | 'lookup'>;

/** How close an address is to this machine. */
export type Locality = (typeof localities)[number];

/** The kinds of addresses, from the internet to this machine. */
const localities = ['public', 'private', 'loopback'] as const;

/** Returns true if an address is closer to this machine than another one. */
export function isMoreLocal(one: Locality, than: Locality): boolean {
  return localities.indexOf(one) > localities.indexOf(than);
}

/** Why an address is refused that is more local than the address with which the agent was registered. */
const movedProblems: Readonly<Record<Locality, string>> = {
  public:
    'its host name leads to a private network or to this machine now, and led to the internet when the agent was registered. Register it again with an operator token',
  private:
    'its host name leads to this machine. Register the agent at localhost or 127.0.0.1 with an operator token',
  loopback: '',
};

/** Returns the kind of the most local address that a host can have. Only `localhost` is a name of this machine. */
function mostLocalOf(host: string): Locality {
  return isIP(host) !== 0 || isLocalhost(host) ? 'loopback' : 'private';
}

function isLocalhost(name: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(name);
}

/** Returns how local a URL is without a look at its addresses. All names except localhost are in the internet. */
export function localityOfText(url: string): Locality {
  const host = URL.canParse(url) ? hostOf(new URL(url)) : '';
  if (isIP(host) === 0) return isLocalhost(host) ? 'loopback' : 'public';
  const kind = addressKind(host);
  return kind === 'forbidden' ? 'public' : kind;
}

type Problems = Readonly<Record<'forbidden' | 'loopback' | 'private' | 'public', string>>;

/** Returns why addresses are refused. `option` is the name of the option that allows them. */
function problemsOf(option: string): Problems {
  const refused = `which \`${option}\` does not allow`;
  return {
    forbidden:
      'its host is a link-local, multicast or metadata address. Use the address at which the agent listens',
    loopback: `its host is this machine, ${refused}. Add "loopback" to allow it`,
    private: `its host is in a private network, ${refused}. Add "private" or the network to allow it`,
    public: `its host is in the internet, ${refused}. Add "public" to allow it`,
  };
}

/** Returns the error for a refused address. The server neither calls the agent nor retries the call. */
function refusedAddress(problem: string): ServerError {
  const details = { reason: 'address_refused' };
  return new ServerError('agent_failed', `Cannot call the agent: ${problem}`, {}, { details });
}

function invalidNetworks(): ServerError {
  const message =
    'Cannot use these agent networks. Use loopback, private, public, or networks such as 10.1.0.0/16';
  return new ServerError('invalid', message);
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function giveAddresses(
  addresses: readonly LookupAddress[],
  { all, family }: LookupOptions,
  done: Parameters<LookupFunction>[2],
): void {
  const wanted = family === 4 || family === 6 ? family : undefined;
  const usable = addresses.filter((one) => wanted === undefined || one.family === wanted);
  const [first] = usable;
  if (first === undefined) done(new Error('The host name has no address'), '');
  else if (all === true) done(null, [...usable]);
  else done(null, first.address, first.family);
}
