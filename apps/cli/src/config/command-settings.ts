import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ConfigArgs } from '../contract/args.ts';
import type { CommandsConfig, FileSandbox, SandboxConfig } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import type { Layer } from './config-layers.ts';
import {
  daemonFolderOf,
  databaseFiles,
  userConfigFolder,
  userDataFolder,
  worktreesFolder,
} from './config-paths.ts';

interface SandboxSources {
  readonly layers: readonly Layer[];
  readonly args: ConfigArgs;
  readonly env: Env;
  /** The path of the session store. Undefined if it is not configured. */
  readonly store: string | undefined;
  /** The file that `--config` or `MILLRACE_CONFIG` names. Default: none. */
  readonly named?: Layer | undefined;
}

/**
 * Merges the sandbox settings of all files and of the flag. A later file overrides a setting of an
 * earlier file. The `hide` lists are an exception: all of them are combined. So a project's file
 * cannot reveal paths that the user hides.
 */
export function mergeSandbox({ layers, args, env, store, named }: SandboxSources): SandboxConfig {
  const merged: FileSandbox = Object.assign({}, ...layers.map(({ settings }) => settings.sandbox));
  const hidden = layers.flatMap(({ settings }) => settings.sandbox?.hide ?? []);
  const chosen = args.sandbox ?? merged.profile;
  const expand = (path: string) =>
    path.startsWith('~/') ? join(env['HOME'] ?? '/', path.slice(2)) : path;
  const own = [
    ...[userConfigFolder(env), userDataFolder(env), worktreesFolder(env)],
    ...storeFiles(store),
    // Like the user's own settings, it can contain keys. A file of the project stays visible: git would show a
    // hidden file as changed.
    ...(named?.owner === 'user' ? [named.file.path] : []),
  ];
  return {
    profile: chosen ?? 'workspace',
    isRequired: chosen !== undefined && chosen !== 'off',
    network: merged.network ?? false,
    unixSockets: merged.unixSockets ?? false,
    writable: (merged.writable ?? []).map(expand),
    hide: [...new Set([...hidden.map(expand), ...own.filter((path) => path !== undefined)])],
  };
}

/**
 * Returns all files of the session store, also those that do not exist. SQLite stores recent records in additional
 * files next to it, and applies a journal that it finds there. If the path is a link, SQLite creates these files
 * next to the target.
 */
export function storeFiles(store: string | undefined): readonly string[] {
  if (store === undefined) return [];
  const files = [...new Set([store, realPathOf(store)])].flatMap(databaseFiles);
  const beside = ['names.jsonl', 'history.jsonl'].map((name) => join(dirname(store), name));
  return [...files, ...beside, daemonFolderOf(store)];
}

/** Returns the target of a link. Folders above are not resolved, because the rules follow them. */
function realPathOf(path: string): string {
  try {
    return lstatSync(path).isSymbolicLink() ? realpathSync(path) : path;
  } catch {
    return path;
  }
}

/**
 * Merges the settings for commands. Commands get all environment variables that at least one file
 * names.
 */
export function mergeCommands(layers: readonly Layer[]): CommandsConfig {
  const all = layers.map(({ settings }) => settings.commands ?? {});
  const { onTimeout } = all.findLast((one) => one.onTimeout !== undefined) ?? {};
  return {
    env: [...new Set(all.flatMap(({ env = [] }) => env))],
    maskSecrets: all.findLast((one) => one.maskSecrets !== undefined)?.maskSecrets ?? true,
    ...(onTimeout !== undefined && { onTimeout }),
  };
}
