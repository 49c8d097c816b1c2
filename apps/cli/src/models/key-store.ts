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
/** The variable that names the keys of the file that a login to a vendor created. */
const loginMarkVariable = 'MILLRACE_LOGIN_KEYS';

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
  const { keys, logins }: StoredKeys = path === undefined ? noKeys : readKeys(path);
  const added = Object.entries(keys).filter(([name]) => !env[name]?.trim());
  if (added.length === 0) return env;
  const names = added.map(([name]) => name);
  const marked = { ...env, ...Object.fromEntries(added), [markVariable]: names.join(' ') };
  const byLogin = names.filter((name) => logins.includes(name));
  return byLogin.length === 0 ? marked : { ...marked, [loginMarkVariable]: byLogin.join(' ') };
}

/** Returns true if the key of this variable is from the file, and not from the environment. */
export function isStoredKey(env: Env, name: string): boolean {
  return env[markVariable]?.split(' ').includes(name) ?? false;
}

/** Returns true if the key of this variable is from the file, and a login created it. */
export function isLoginKey(env: Env, name: string): boolean {
  return isStoredKey(env, name) && (env[loginMarkVariable]?.split(' ').includes(name) ?? false);
}

/** Stores a key. Only the user can read the file. Returns its path. */
export async function storeKey(
  env: Env,
  name: string,
  key: string,
  { isLogin = false }: { readonly isLogin?: boolean } = {},
): Promise<string> {
  const path = keysFile(env);
  if (path === undefined)
    throw new ConfigError(
      'Cannot store the key: neither XDG_CONFIG_HOME nor HOME is set. Set one of them',
    );
  const before = readKeys(path);
  const others = before.logins.filter((one) => one !== name);
  await writeKeys(path, {
    keys: { ...before.keys, [name]: key },
    logins: isLogin ? [...others, name] : others,
  });
  return path;
}

/** Deletes a key that a login created. Returns the path of the file, or undefined if there is no such key. */
export async function deleteLoginKey(env: Env, name: string): Promise<string | undefined> {
  const path = keysFile(env);
  const { keys, logins }: StoredKeys = path === undefined ? noKeys : readKeys(path);
  if (path === undefined || keys[name] === undefined || !logins.includes(name)) return undefined;
  const { [name]: _deleted, ...rest } = keys;
  await writeKeys(path, { keys: rest, logins: logins.filter((one) => one !== name) });
  return path;
}

async function writeKeys(path: string, { keys, logins }: StoredKeys): Promise<void> {
  // The import is here, because each command loads this module, but few commands store a key.
  const { writeAtomically } = await import('../config/folders-file.ts');
  makeFolder(dirname(path));
  const content = { ...keys, ...(logins.length > 0 && { logins }) };
  await writeAtomically(path, `${JSON.stringify(content, undefined, 2)}\n`);
}

/** The content of the file. */
interface StoredKeys {
  /** The keys by variable. */
  readonly keys: Readonly<Record<string, string>>;
  /** The variables whose key a login created. */
  readonly logins: readonly string[];
}

const noKeys: StoredKeys = { keys: {}, logins: [] };

/** Returns undefined if the file does not exist, or if a part of its path is not a folder. */
function statsOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function readKeys(path: string): StoredKeys {
  const stats = statsOf(path);
  if (stats === undefined) return noKeys;
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
  const { logins } = parsed.value as { readonly logins?: unknown };
  const entries = Object.entries(parsed.value).flatMap(([name, key]) =>
    keyNames.has(name) && typeof key === 'string' && key.trim() !== ''
      ? [[name, key] as const]
      : [],
  );
  const names = entries.map(([name]) => name);
  return {
    keys: Object.fromEntries(entries),
    logins: Array.isArray(logins) ? names.filter((name) => logins.includes(name)) : [],
  };
}
