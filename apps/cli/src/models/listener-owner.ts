import { readFile } from 'node:fs/promises';

/**
 * The kind of account that listens on a port of this machine. `trusted`: this user, root, or the
 * account of the service. `foreign`: a different user. `unknown`: the system does not tell.
 */
export type ListenerOwner = 'trusted' | 'foreign' | 'unknown';

/** The data of the system about listeners. Tests pass their own data. */
export interface ListenerSources {
  /** Default: the platform of this process. */
  readonly platform?: NodeJS.Platform | undefined;
  /** The user id of this process. Default: the real one. */
  readonly uid?: number | undefined;
  /** Reads a file. Default: the real file system. */
  readonly read?: ((path: string) => Promise<string>) | undefined;
}

/**
 * Finds out who listens at 127.0.0.1 on a port. Each user of a machine can listen on a free port, and could
 * pretend to be a model server. `account` is the name of the system account under which the server usually
 * runs, for example `ollama`.
 */
export async function findListenerOwner(
  port: number,
  account: string | undefined,
  sources: ListenerSources = {},
): Promise<ListenerOwner> {
  const { platform = process.platform, uid = process.getuid?.() } = sources;
  const { read = (path) => readFile(path, 'utf8') } = sources;
  if (platform !== 'linux' || uid === undefined) return 'unknown';
  const textOf = (path: string) => read(path).catch(() => '');
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(textOf));
  const owners = tables.flatMap((table) => listenersOn(table, port));
  if (owners.length === 0) return 'unknown';
  const service =
    account === undefined ? undefined : systemAccount(await textOf('/etc/passwd'), account);
  const isTrusted = (owner: number) => owner === 0 || owner === uid || owner === service;
  return owners.every(isTrusted) ? 'trusted' : 'foreign';
}

/** The state of a socket that listens. */
const listenState = '0A';

/**
 * The addresses that accept connections to 127.0.0.1, as the kernel prints them: in the byte order of the
 * machine.
 */
const localAddresses: ReadonlySet<string> = new Set([
  ...['0100007F', '7F000001', '00000000', '0'.repeat(32)],
  ...['0000000000000000FFFF00000100007F', '00000000000000000000FFFF7F000001'],
]);

/** Returns the user ids of the listeners on a port. */
function listenersOn(table: string, port: number): readonly number[] {
  return table.split('\n').flatMap((line) => {
    // The columns are: number, local address, remote address, state, queues, timer, retransmits, user id.
    const [, local = '', , state, , , , uid = ''] = line.trim().split(/\s+/);
    const [address = '', hexPort = ''] = local.split(':');
    const isHere =
      localAddresses.has(address.toUpperCase()) && Number.parseInt(hexPort, 16) === port;
    return state === listenState && isHere && /^\d+$/.test(uid) ? [Number(uid)] : [];
  });
}

/** Ordinary users have higher user ids. */
const maxSystemId = 999;

function systemAccount(passwd: string, account: string): number | undefined {
  const line = passwd.split('\n').find((one) => one.startsWith(`${account}:`));
  const uid = Number(line?.split(':')[2]);
  return Number.isInteger(uid) && uid <= maxSystemId ? uid : undefined;
}
