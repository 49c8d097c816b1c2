import { createHash } from 'node:crypto';
import { lstatSync, readdirSync } from 'node:fs';
import {
  lstat,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { commandHint } from '../args/command-hint.ts';
import { userConfigFolder } from '../config/config-paths.ts';
import { writeAtomically } from '../config/folders-file.ts';
import { checkJsonFile, readJsonFile } from '../config/json-file.ts';
import { ConfigError, UsageError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { makeFolder } from '../make-folder.ts';
import { readFileSafely } from '../safe-files.ts';

/** A plugin that the user has added. */
export interface Plugin {
  readonly name: string;
  /** The path or the package from which it was added. */
  readonly source: string;
  /** The SHA-256 digest of all its files. If it changes, the plugin is not used any more. */
  readonly digest: string;
  /** The integrity of the package, as npm reports it. Undefined for a folder. */
  readonly integrity?: string | undefined;
}

const fileSchema: z.ZodType<Readonly<Record<string, Omit<Plugin, 'name'>>>> = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
  z.strictObject({
    source: z.string(),
    digest: z.string(),
    integrity: z.string().optional(),
  }),
);

const maxFiles = 10_000;
const maxBytes = 100 * 2 ** 20;
const maxDepth = 8;
const skipped: ReadonlySet<string> = new Set(['node_modules', '.git']);

/** Returns the folder with the copies of all plugins. */
export function pluginsFolder(env: Env): string {
  const folder = userConfigFolder(env);
  if (folder === undefined)
    throw new ConfigError('There is no folder for plugins: set XDG_CONFIG_HOME or HOME');
  return join(folder, 'plugins');
}

/** Returns the folder with the files of a plugin. */
function folderOf(env: Env, name: string): string {
  return join(pluginsFolder(env), name);
}

/** Reads the list of the plugins. */
export async function readPlugins(env: Env): Promise<readonly Plugin[]> {
  const folder = userConfigFolder(env);
  const file = folder && (await readJsonFile(join(folder, 'plugins.json')));
  const plugins = file ? checkJsonFile(file, fileSchema) : {};
  return Object.entries(plugins).map(([name, plugin]) => ({ name, ...plugin }));
}

/**
 * Returns the folders of the plugins whose files are those that the user has trusted. `warn` is called with a
 * sentence about each other plugin.
 */
export async function trustedPlugins(
  env: Env,
  warn: (problem: string) => void,
): Promise<readonly { readonly name: string; readonly folder: string }[]> {
  const plugins: { readonly name: string; readonly folder: string }[] = [];
  for (const plugin of await readPlugins(env)) {
    const { name, source } = plugin;
    if (await isUnchanged(env, plugin)) plugins.push({ name, folder: folderOf(env, name) });
    else
      warn(
        `The plugin ${name} is not used: its files have changed since you trusted it. To trust them again, run ${commandHint({}, 'plugins add', source)}`,
      );
  }
  return plugins;
}

/**
 * Returns true if the files of a plugin are those that the user has trusted. Reading a large plugin takes a second, so
 * the sizes and times of its files are stored after a check. The files are read again only if one of these differs.
 */
export async function isUnchanged(
  env: Env,
  { name, digest }: Pick<Plugin, 'name' | 'digest'>,
): Promise<boolean> {
  const folder = folderOf(env, name);
  const stamp = stampOf(folder);
  const stored = await readStamps(env);
  const own = `${digest} ${stamp?.text}`;
  if (stamp !== undefined && stored[name] === own) return true;
  const files = readFiles(folder, { isCopy: true });
  const isSame = (await files.then(digestOf, () => undefined)) === digest;
  // A file could change again within the resolution of the clock of the file system.
  if (isSame && stamp !== undefined && Date.now() - stamp.newestMs > 5000)
    await writeAtomically(stampsFile(env), `${JSON.stringify({ ...stored, [name]: own })}\n`).catch(
      () => {},
    );
  return isSame;
}

interface FolderStamp {
  readonly text: string;
  /** The time of the newest change. No program can set this time. */
  readonly newestMs: number;
}

/** Returns the names, sizes and times of all entries of a folder as a digest. Undefined if it cannot be read. */
function stampOf(folder: string): FolderStamp | undefined {
  const hash = createHash('sha256');
  let newestMs = 0;
  const visit = (at: string, depth: number): void => {
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      const path = join(at, entry.name);
      const { ino, size, mtimeNs, ctimeNs, ctimeMs, mode } = lstatSync(path, { bigint: true });
      hash.update(JSON.stringify([path, ...[ino, size, mtimeNs, ctimeNs, mode].map(String)]));
      newestMs = Math.max(newestMs, Number(ctimeMs));
      if (entry.isDirectory() && depth < maxDepth) visit(path, depth + 1);
    }
  };
  try {
    visit(folder, 0);
  } catch {
    return undefined;
  }
  return { text: hash.digest('hex'), newestMs };
}

const stampsFile = (env: Env) => `${pluginsFolder(env)}-checked.json`;

async function readStamps(env: Env): Promise<Readonly<Record<string, unknown>>> {
  try {
    return JSON.parse(await readFile(stampsFile(env), 'utf8')) ?? {};
  } catch {
    return {};
  }
}

/** The content of a file of a plugin. */
export interface PluginFile {
  /** The path relative to the folder of the plugin. */
  readonly path: string;
  readonly bytes: Buffer;
}

/**
 * Reads all files of a plugin. Links are left out, because they could lead to files of other places. Folders with
 * installed packages are left out too. A copy has no such entries, so with `isCopy` each of them is an error.
 */
export async function readFiles(
  folder: string,
  { isCopy = false }: { readonly isCopy?: boolean } = {},
): Promise<readonly PluginFile[]> {
  const files: PluginFile[] = [];
  let bytesLeft = maxBytes;
  const visit = async (at: string, depth: number): Promise<void> => {
    const entries = await readdir(at, { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(at, entry.name);
      const isCopied = entry.isFile() || (entry.isDirectory() && !skipped.has(entry.name));
      if (isCopy && !isCopied) throw new ConfigError(`${path} is not part of the plugin`);
      if (isCopied && entry.isDirectory()) {
        if (depth >= maxDepth) throw tooLarge(folder);
        await visit(path, depth + 1);
      }
      if (!entry.isFile()) continue;
      const { size } = await lstat(path);
      bytesLeft -= size;
      if (bytesLeft < 0 || files.length >= maxFiles) throw tooLarge(folder);
      const { bytes } = await readFileSafely(path, { maxBytes: size });
      files.push({ path: relative(folder, path), bytes });
    }
  };
  await visit(folder, 0);
  return files;
}

function tooLarge(folder: string): UsageError {
  return new UsageError(
    `Cannot add the plugin ${basename(folder)}: it has more than ${maxFiles} files, ${maxBytes / 2 ** 20} MiB, or ${maxDepth} levels of folders`,
  );
}

/** Returns a digest of the names and the content of files. */
function digestOf(files: readonly PluginFile[]): string {
  const hash = createHash('sha256');
  for (const { path, bytes } of files)
    hash.update(JSON.stringify([path, bytes.length])).update(bytes);
  return hash.digest('hex');
}

/** A copy of the files of a plugin that no session uses yet. */
export interface PluginDraft {
  readonly folder: string;
  /** Moves the copy to its place, and stores its digest. Replaces an earlier version. */
  store(plugin: Omit<Plugin, 'name' | 'digest'>): Promise<void>;
  /** Removes the copy, unless it is stored. */
  remove(): Promise<void>;
}

/**
 * Copies the files of a plugin into the folder of the user. The user sees what a session would load from this copy
 * before it is stored. The folder of the copy already has the name of the plugin, because a path or the name of a skill
 * can contain it.
 */
export async function draftPlugin(
  env: Env,
  name: string,
  files: readonly PluginFile[],
): Promise<PluginDraft> {
  const plugins = pluginsFolder(env);
  makeFolder(plugins);
  const parent = await realpath(await mkdtemp(join(plugins, '.new-')));
  const folder = join(parent, name);
  const remove = () => rm(parent, { recursive: true, force: true });
  try {
    makeFolder(folder);
    for (const { path, bytes } of files) {
      makeFolder(dirname(join(folder, path)));
      // Scripts of hooks must be executable. Only the user has access.
      await writeFile(join(folder, path), bytes, { mode: 0o700 });
    }
  } catch (error) {
    await remove();
    throw error;
  }
  const store = async (plugin: Omit<Plugin, 'name' | 'digest'>) => {
    await rm(folderOf(env, name), { recursive: true, force: true });
    await rename(folder, folderOf(env, name));
    const others = (await readPlugins(env)).filter((one) => one.name !== name);
    await writePlugins(env, [...others, { ...plugin, name, digest: digestOf(files) }]);
  };
  return { folder, store, remove };
}

/** Removes a plugin. Returns false if there is none with this name. */
export async function removePlugin(env: Env, name: string): Promise<boolean> {
  const plugins = await readPlugins(env);
  const others = plugins.filter((one) => one.name !== name);
  if (others.length === plugins.length) return false;
  await writePlugins(env, others);
  await rm(folderOf(env, name), { recursive: true, force: true });
  return true;
}

async function writePlugins(env: Env, plugins: readonly Plugin[]): Promise<void> {
  const content = Object.fromEntries(plugins.map(({ name, ...rest }) => [name, rest]));
  await writeAtomically(`${pluginsFolder(env)}.json`, `${JSON.stringify(content, undefined, 2)}\n`);
}
