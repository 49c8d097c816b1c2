import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

type Connection = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/**
 * True if a different user of this machine made a connection over loopback. Root does not count, because it forwards
 * ports. Returns false if the system does not tell, as on systems other than Linux.
 */
export function isFromOtherUser({
  remoteAddress = '',
  remotePort,
  localPort,
}: Connection): boolean {
  const uid = process.getuid?.();
  if (process.platform !== 'linux' || uid === undefined) return false;
  if (remotePort === undefined || localPort === undefined) return false;
  const addresses = addressInTable(remoteAddress);
  const ends = [portInTable(remotePort), portInTable(localPort)];
  const owners = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    ownersOf(textOf(path), addresses, ends),
  );
  return owners.some((owner) => owner !== uid && owner !== 0);
}

/** Returns the user ids of the sockets at this end of the connection. */
function ownersOf(
  table: string,
  addresses: readonly string[],
  [near, far]: readonly string[],
): readonly number[] {
  return table.split('\n').flatMap((line) => {
    // The columns are: number, local address, remote address, state, queues, timer, retransmits, user id.
    const [, local = '', remote = '', , , , , uid = ''] = line.trim().split(/\s+/);
    const isThis =
      addresses.some((address) => local === `${address}:${near}`) && remote.endsWith(`:${far}`);
    return isThis && /^\d+$/.test(uid) ? [Number(uid)] : [];
  });
}

/** Returns an IPv4 address as the kernel prints it: in the byte order of the machine, and also as IPv6. */
function addressInTable(address: string): readonly string[] {
  const bytes = address.replace(/^::ffff:/, '').split('.');
  if (bytes.length !== 4) return [];
  const isLittle = endianness() === 'LE';
  const text = (isLittle ? bytes.toReversed() : bytes)
    .map((byte) => Number(byte).toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase();
  return [text, `0000000000000000${isLittle ? 'FFFF0000' : '0000FFFF'}${text}`];
}

function portInTable(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
