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

  /** Throws `invalid` if the server cannot or must not call an agent at this URL. */
  async assertUrl(text: string): Promise<void> {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
    // A query or a fragment is refused, because the server appends a path to the URL.
    const isPlain = isHttp && !/[?#]/.test(text) && url.username === '' && url.password === '';
    if (!isPlain) {
      const message =
        'Cannot register the agent: acp_url must be an http or https URL without user, query and fragment';
      throw new ServerError('invalid', message);
    }
    const problem = await this.#problemOf(hostOf(url));
    if (problem !== undefined)
      throw new ServerError('invalid', `Cannot register the agent: ${problem}`);
  }

  /** True if a URL leads to an address that is closer to this machine than the address of another URL. */
  async isMoreLocal(url: string, than: string): Promise<boolean> {
    const [next, before] = await Promise.all([this.#localityOf(url), this.#localityOf(than)]);
    return next > before;
  }

  /** Returns how local the most local address of a URL is: the position in `locality`. */
  async #localityOf(text: string): Promise<number> {
    const host = hostOf(new URL(text));
    const addresses = isIP(host) === 0 ? await this.#addressesOf(host) : [{ address: host }];
    return Math.max(0, ...addresses.map(({ address }) => locality.indexOf(addressKind(address))));
  }

  #addressesOf(host: string): Promise<readonly LookupAddress[]> {
    const { promise, resolve } = Promise.withResolvers<readonly LookupAddress[]>();
    // A name that cannot be resolved yet has no address. The server checks it again at each connection.
    this.#resolve(host, (_error, addresses) => resolve(addresses));
    return promise;
  }

  /** Throws if the host of a URL is an address to which the server must not connect. */
  assertHost(url: URL): void {
    const host = hostOf(url);
    const problem = isIP(host) === 0 ? this.#problemOfName(host) : this.#problemOfAddress(host);
    if (problem !== undefined) throw refusedAddress(problem);
  }

  /** Resolves a name for `net.connect`. It fails if the policy refuses any of the addresses. */
  readonly lookup: LookupFunction = (name, options, done) => {
    this.#resolve(name, (error, addresses) => {
      const problem = this.#problemOfAll(addresses);
      if (error !== null) done(error, '');
      else if (problem !== undefined) done(refusedAddress(problem), '');
      else giveAddresses(addresses, options, done);
    });
  };

  async #problemOf(host: string): Promise<string | undefined> {
    if (isIP(host) !== 0) return this.#problemOfAddress(host);
    const problem = this.#problemOfName(host);
    if (problem !== undefined) return problem;
    return this.#problemOfAll(await this.#addressesOf(host));
  }

  #problemOfName(name: string): string | undefined {
    const isForbidden = forbiddenNames.has(name.toLowerCase().replace(/\.$/, ''));
    return isForbidden ? this.#problems.forbidden : undefined;
  }

  #problemOfAll(addresses: readonly LookupAddress[]): string | undefined {
    for (const { address } of addresses) {
      const problem = this.#problemOfAddress(address);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /**
   * Returns the reason why an address is refused. Returns undefined if it is allowed. The text contains only
   * the kind of address, because the address itself may be confidential.
   */
  #problemOfAddress(address: string): string | undefined {
    const kind = addressKind(address);
    const isListed = () => this.#networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
    return kind !== 'forbidden' && (this.#kinds.has(kind) || isListed())
      ? undefined
      : this.#problems[kind];
  }
}

/** The kinds of addresses, from the internet to this machine. */
const locality: readonly string[] = ['public', 'private', 'loopback', 'forbidden'];

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
