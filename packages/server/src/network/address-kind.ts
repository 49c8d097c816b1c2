import { BlockList, isIP } from 'node:net';

/**
 * The kind of network to which an IP address belongs. The server never connects to a `forbidden` address, and
 * no option can change this. At forbidden addresses, no agent can run, or a cloud serves credentials.
 */
export type AddressKind = 'loopback' | 'private' | 'public' | 'forbidden';

const loopback = ranges(['127.0.0.0/8', '::1/128']);

const privateNetworks = ranges([
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  // Addresses that internet providers share between customers, and networks for benchmarks.
  ...['100.64.0.0/10', '198.18.0.0/15'],
  'fc00::/7',
]);

const forbidden = ranges([
  // The network 0.0.0.0/8. Many systems treat its addresses as this machine.
  '0.0.0.0/8',
  // Link-local addresses. Most clouds serve the credentials of a virtual machine at 169.254.169.254.
  ...['169.254.0.0/16', 'fe80::/10'],
  // Metadata services of Alibaba Cloud, Azure and Oracle Cloud.
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.0/24'],
  // Metadata services of AWS, Google Cloud, Oracle Cloud and Scaleway over IPv6.
  ...['fd00:ec2::/32', 'fd20:ce::/32', 'fd00:c1::/32', 'fd00:42::/32'],
  // Multicast, reserved and broadcast addresses.
  ...['224.0.0.0/3', 'ff00::/8'],
  // Obsolete or local forms of IPv6 that contain an IPv4 address: compatible, translated, local NAT64, 6to4
  // and Teredo. The last entry contains the obsolete site-local addresses.
  ...['::/96', '::ffff:0:0:0/96', '64:ff9b:1::/48', '2002::/16', '2001::/32', 'fec0::/10'],
]);

/** Returns the kind of an IP address. It accepts every notation that `net.isIP` accepts. */
export function addressKind(address: string): AddressKind {
  const plain = address.split('%', 1)[0] ?? '';
  const version = isIP(plain);
  if (version === 4) return kindInRanges(plain, 'ipv4');
  if (version === 0) return 'forbidden';
  const groups = ipv6Groups(plain);
  const embedded = embeddedIpv4(groups);
  if (embedded !== undefined) return kindInRanges(embedded, 'ipv4');
  return hasHiddenIpv4(groups) ? 'forbidden' : kindInRanges(plain, 'ipv6');
}

function kindInRanges(address: string, family: 'ipv4' | 'ipv6'): AddressKind {
  // The check for loopback comes first, because the forbidden network ::/96 contains ::1.
  if (loopback.check(address, family)) return 'loopback';
  if (forbidden.check(address, family)) return 'forbidden';
  return privateNetworks.check(address, family) ? 'private' : 'public';
}

/** Parses a list of networks such as `10.0.0.0/8`. Returns undefined if one entry is not a network. */
export function parseNetworks(networks: readonly string[]): BlockList | undefined {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = '', ...rest] = network.split('/');
    const version = isIP(address);
    const isValid = version !== 0 && /^\d{1,3}$/.test(bits) && rest.length === 0;
    if (!isValid || Number(bits) > (version === 4 ? 32 : 128)) return undefined;
    list.addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

function ranges(networks: readonly string[]): BlockList {
  const list = parseNetworks(networks);
  if (list === undefined) throw new Error(`Not all of these are networks: ${networks.join(', ')}`);
  return list;
}

/** Returns the eight 16-bit groups of a valid IPv6 address. */
function ipv6Groups(address: string): readonly number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const text =
    dotted === null
      ? address
      : `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`;
  const [head = [], tail = []] = text
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}

function hex(high: string | undefined, low: string | undefined): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}

/**
 * Returns the IPv4 address inside a mapped (`::ffff:0:0/96`) or NAT64 (`64:ff9b::/96`) address. Returns
 * undefined for other addresses.
 */
function embeddedIpv4(groups: readonly number[]): string | undefined {
  const [a, b, c, d, e, f, high = 0, low = 0] = groups;
  const isMapped = [a, b, c, d, e].every((group) => group === 0) && f === 0xffff;
  const isNat64 = a === 0x64 && b === 0xff9b && [c, d, e, f].every((group) => group === 0);
  if (!isMapped && !isNat64) return undefined;
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/**
 * Returns true for ISATAP addresses, and for addresses that end in 169.254.169.254. Several clouds use this
 * ending for the IPv6 address of their metadata service.
 */
function hasHiddenIpv4([, , , , e = 0, f, high, low]: readonly number[]): boolean {
  const isIsatap = (e & 0xfdff) === 0 && f === 0x5efe;
  return isIsatap || (high === 0xa9fe && low === 0xa9fe);
}
