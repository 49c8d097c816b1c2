import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

type Connection = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/**
 * True if a different user of this machine may have made a connection over loopback. Root does not count, because it
 * forwards ports. The kernel forgets the owner of a socket that its program has closed, so such a connection counts as
 * one of a different user. Returns false if the system does not tell, as on systems other than Linux.
 */
export function isFromOtherUser(
  { remoteAddress = '', remotePort, localPort }: Connection,
  readTables: () => string = socketTables,
): boolean {
  const uid = process.getuid?.();
  if (process.platform !== 'linux' || uid === undefined) return false;
  if (remotePort === undefined || localPort === undefined) return false;
  const [near, far] = [portInTable(remotePort), portInTable(localPort)];
  const addresses = addressInTable(remoteAddress);
  const read = () => {
    const sockets = readTables().split('\n').map(socketOf);
    return {
      theirs: sockets.find(
        ({ local, remote }) =>
          addresses.some((address) => local === `${address}:${near}`) && remote.endsWith(`:${far}`),
      ),
      own: sockets.filter(({ local }) => local.endsWith(`:${far}`)),
    };
  };
  const { theirs, own } = read();
  if (theirs !== undefined)
    return theirs.state !== established || (theirs.uid !== uid && theirs.uid !== 0);
  // The system does not list the sockets of this program.
  if (own.length === 0) return false;
  // The browser is in another network namespace, or it has closed its socket while the table was read.
  return !read().own.some(
    ({ remote, state }) => remote.endsWith(`:${near}`) && state === established,
  );
}

/** The state of a connection that neither end has closed. */
const established = '01';

interface ListedSocket {
  readonly local: string;
  readonly remote: string;
  readonly state: string;
  readonly uid: number;
}

function socketOf(line: string): ListedSocket {
  // The columns are: number, local address, remote address, state, queues, timer, retransmits, user id.
  const [, local = '', remote = '', state = '', , , , uid = ''] = line.trim().split(/\s+/);
  return { local, remote, state, uid: /^\d+$/.test(uid) ? Number(uid) : Number.NaN };
}

function socketTables(): string {
  return ['/proc/net/tcp', '/proc/net/tcp6'].map(textOf).join('\n');
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
