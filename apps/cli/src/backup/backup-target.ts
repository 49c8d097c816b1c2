import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MillraceError } from '@millrace/core';
import type { Config } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { storePath } from '../store/open-store.ts';

/**
 * A store to back up or to restore. It is the session file, the folder of a server, or the Postgres
 * database of a server.
 */
export type BackupTarget =
  | { readonly type: 'files'; readonly name: string; readonly log: string; readonly rows?: string }
  | { readonly type: 'postgres'; readonly name: string; readonly url: string };

/** Returns the store that the flags name. Default: the session file. */
export function backupTarget(
  args: { readonly store?: string | undefined; readonly data?: string | undefined },
  config: Pick<Config, 'store'>,
  { env, cwd }: { readonly env: Env; readonly cwd: string },
): BackupTarget {
  const { store, data } = args;
  if (store !== undefined && data !== undefined) throw twoStores();
  if (data !== undefined) return serverFolder(resolve(cwd, data));
  if (store !== undefined && /^postgres(?:ql)?:\/\//i.test(store)) {
    const { host, pathname } = new URL(store);
    return { type: 'postgres', name: `Postgres at ${host || 'localhost'}${pathname}`, url: store };
  }
  // A mistyped URL must not be used as a file name, because error messages would show its password.
  if (store !== undefined && /^[a-z][a-z0-9+]+:/i.test(store)) throw unknownStore();
  const given = store === undefined ? undefined : resolve(cwd, store);
  if (given !== undefined && isFolder(given)) return serverFolder(given);
  const path = storePath({ store: given ?? config.store }, env);
  return { type: 'files', name: path, log: path };
}

function serverFolder(folder: string): BackupTarget {
  const files = { log: join(folder, 'sessions.db'), rows: join(folder, 'tasks.db') };
  return { type: 'files', name: folder, ...files };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function twoStores(): MillraceError {
  return new MillraceError('bad_store', 'Cannot use two stores: use --store or --data, not both');
}

function unknownStore(): MillraceError {
  const message =
    'Cannot use this store: --store takes a file, the folder of a server, or postgres://user@host:5432/database';
  return new MillraceError('bad_store', message);
}

/** Returns the error for a store that is not empty. A restore would delete its content. */
export function notEmpty(name: string): MillraceError {
  const message = `Cannot restore into ${name}: it is not empty. Add --replace to delete its content`;
  return new MillraceError('not_empty', message, { name });
}
