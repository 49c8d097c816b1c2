import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MillraceError } from '@millrace/core';
import { daemonFolderOf } from '../config/config-paths.ts';
import { storePath } from '../store/open-store.ts';

/** The paths of the daemon of a session store. */
export interface DaemonFiles {
  /** The session store. */
  readonly store: string;
  /** The folder of all other files. Only the user can read it, and the sandbox hides it. */
  readonly folder: string;
  readonly lock: string;
  readonly socket: string;
  /** The process id and the address of the last daemon. */
  readonly state: string;
  /** Tasks and tokens of the server. */
  readonly rows: string;
  /** The folder of the profiles, one file per session. */
  readonly profiles: string;
  /** The output of a daemon that was started on demand. */
  readonly output: string;
}

/** The longest path of a Unix socket on Linux and macOS, in bytes. */
const maxSocketBytes = 103;

/**
 * Returns the paths of the daemon of a store. The default store has its daemon in the user's data folder.
 * Each other store has a folder beside it, so that two stores have two daemons.
 */
export function daemonFiles(
  config: { readonly store?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): DaemonFiles {
  const store = storePath(config, env);
  const isDefault = config.store === undefined || store === defaultStore(env);
  const folder = isDefault ? join(dirname(store), 'daemon') : daemonFolderOf(store);
  const within = (name: string) => join(folder, name);
  const socket = within('socket');
  if (Buffer.byteLength(socket) > maxSocketBytes) throw pathTooLong(socket);
  return {
    ...{ store, folder, socket, lock: within('lock.db'), state: within('daemon.json') },
    ...{ rows: within('tasks.db'), profiles: within('profiles'), output: within('output.log') },
  };
}

/** Returns the path of the default store. Returns undefined if there is no home folder. */
export function defaultStore(
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  try {
    return storePath({}, env);
  } catch {
    return undefined;
  }
}

function pathTooLong(socket: string): MillraceError {
  const message = `Cannot use the daemon: the path of its socket is too long: ${socket}. Use a shorter path with --store <file>`;
  return new MillraceError('path_too_long', message, { path: socket });
}

/** The state of a daemon that other programs can read. */
export interface DaemonState {
  readonly pid: number;
  readonly url: string;
  readonly startedAt: number;
}

export async function writeState(path: string, state: DaemonState): Promise<void> {
  await replaceFile(path, JSON.stringify(state));
}

/** Reads the state of the last daemon. The daemon may have ended. */
export async function readState(path: string): Promise<DaemonState | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '{}');
  try {
    const { pid, url, startedAt } = JSON.parse(text) as Partial<DaemonState>;
    const isWhole = typeof pid === 'number' && typeof url === 'string' && URL.canParse(url);
    return isWhole ? { pid, url, startedAt: Number(startedAt) } : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces a file at once, so that a reader never finds half of it. Only the user can read it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(temporary, `${text}\n`, { mode: 0o600, flag: 'wx' });
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}
