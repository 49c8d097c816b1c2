import { lstatSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseJson } from '@millrace/core';
import { userConfigFolder } from '../config/config-paths.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { makeFolder } from '../make-folder.ts';
import { vendors } from './vendors.ts';

/** The variable that names the keys of the file. A key of the environment has precedence over them. */
const markVariable = 'MILLRACE_STORED_KEYS';

const keyNames: ReadonlySet<string> = new Set(vendors.flatMap(({ keyVariables }) => keyVariables));

/** Returns the file with the keys that the user entered. Undefined if there is no home folder. */
function keysFile(env: Env): string | undefined {
  const folder = userConfigFolder(env);
  return folder && join(folder, 'keys.json');
}

/**
 * Returns the environment with the keys that the user entered. A variable that is set is not replaced. The
 * file can set only variables with keys of vendors. Throws if other users can read or change the file.
 */
export function withStoredKeys(env: Env): Env {
  const path = keysFile(env);
  const stored = path === undefined ? {} : readKeys(path);
  const added = Object.entries(stored).filter(([name]) => !env[name]?.trim());
  if (added.length === 0) return env;
  const names = added.map(([name]) => name).join(' ');
  return { ...env, ...Object.fromEntries(added), [markVariable]: names };
}

/** Returns true if the key of this variable is from the file, and not from the environment. */
export function isStoredKey(env: Env, name: string): boolean {
  return env[markVariable]?.split(' ').includes(name) ?? false;
}

/** Stores a key. Only the user can read the file. Returns its path. */
export async function storeKey(env: Env, name: string, key: string): Promise<string> {
  const path = keysFile(env);
  if (path === undefined)
    throw new ConfigError(
      'Cannot store the key: neither XDG_CONFIG_HOME nor HOME is set. Set one of them',
    );
  // The import is here, because each command loads this module, but few commands store a key.
  const { writeAtomically } = await import('../config/folders-file.ts');
  makeFolder(dirname(path));
  const keys = { ...readKeys(path), [name]: key };
  await writeAtomically(path, `${JSON.stringify(keys, undefined, 2)}\n`);
  return path;
}

/** Returns undefined if the file does not exist, or if a part of its path is not a folder. */
function statsOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function readKeys(path: string): Readonly<Record<string, string>> {
  const stats = statsOf(path);
  if (stats === undefined) return {};
  const uid = process.getuid?.();
  const isPrivate = uid === undefined || (stats.uid === uid && (stats.mode & 0o077) === 0);
  if (!stats.isFile() || !isPrivate)
    throw new ConfigError(
      `Cannot use the keys in ${path}: other users can read or change the file. Run chmod 600 on it, or delete it`,
      { path },
    );
  const parsed = parseJson(readFileSync(path, 'utf8'));
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null)
    throw new ConfigError(`Cannot read ${path}: it is not a JSON object. Delete it`, { path });
  const entries = Object.entries(parsed.value).flatMap(([name, key]) =>
    keyNames.has(name) && typeof key === 'string' && key.trim() !== ''
      ? [[name, key] as const]
      : [],
  );
  return Object.fromEntries(entries);
}
