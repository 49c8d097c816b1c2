import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { isQuietGitConfig } from './git-config.ts';
import { readRegularFile } from './read-regular-file.ts';
import { RepositorySearch } from './repository-search.ts';

const maxPointerBytes = 4096;

interface GitOptions {
  /** The real path of the workspace. */
  readonly root: string;
  /** Folders with settings that no command can change. A `.git` may lead to them. */
  readonly guarded: readonly string[];
}

/**
 * Returns why a `.git` that a command created makes git run programs. It is a folder, or a file that
 * names one.
 */
export async function riskOfGit(
  git: string,
  { root, guarded }: GitOptions,
): Promise<string | undefined> {
  const entry = await lstat(git).catch(() => undefined);
  if (entry === undefined) return undefined;
  if (entry.isDirectory()) return riskOfSettings(git, root);
  if (!entry.isFile()) return 'it is neither a file nor a folder';
  const text = (await readRegularFile(git, maxPointerBytes))?.toString('utf8') ?? '';
  const target = /^gitdir:[ \t]*([^\r\n]+)/.exec(text)?.[1];
  // Git refuses such a file.
  if (target === undefined) return undefined;
  const real = resolve(dirname(git), target);
  if (!isInside(root, real)) return 'it leads out of the workspace';
  return guarded.some((place) => isInside(place, real)) ? undefined : riskOfSettings(real, root);
}

const maxConfigBytes = 1_048_576;
/** A submodule can have submodules, and a worktree takes the settings of its repository. */
const maxDepth = 5;
const maxModuleFolders = 2000;

/**
 * Returns why a git folder that a command created makes git run programs. Settings of clones are
 * accepted, also with submodules.
 */
export async function riskOfSettings(
  git: string,
  root: string,
  depth = 0,
): Promise<string | undefined> {
  if (depth > maxDepth) return 'it has too many repositories in it';
  const at = (name: string) => join(git, name);
  const isThere = (name: string) => lstat(at(name)).then(() => true, isNotMissing);
  if (await isThere('config.worktree')) return 'it has settings of a worktree';
  const hooks = await readdir(at('hooks')).catch(emptyIfMissing);
  if (hooks === undefined || hooks.some((name) => !name.endsWith('.sample'))) return 'it has hooks';
  if (await isThere('config')) {
    const config = (await readRegularFile(at('config'), maxConfigBytes))?.toString('utf8');
    const isInRoot = (value: string) => isInside(root, resolve(git, value));
    if (config === undefined || !isQuietGitConfig(config, isInRoot))
      return 'it has settings that are not known to be harmless';
  }
  if (await isThere('commondir')) {
    const common = (await readRegularFile(at('commondir'), maxPointerBytes))?.toString('utf8');
    const shared = resolve(git, common?.trim() ?? '/');
    if (!isInside(root, shared)) return 'its settings are outside of the workspace';
    if (shared !== git) return riskOfSettings(shared, root, depth + 1);
  }
  return (await isThere('modules')) ? riskOfModules(at('modules'), root, depth) : undefined;
}

async function riskOfModules(
  modules: string,
  root: string,
  depth: number,
): Promise<string | undefined> {
  try {
    const found = new RepositorySearch({ maxFolders: maxModuleFolders }).find(modules);
    for (const { folder } of found) {
      const why = await riskOfSettings(folder, root, depth + 1);
      if (why !== undefined) return `its submodule ${basename(folder)}: ${why}`;
    }
    return undefined;
  } catch {
    return 'its submodules cannot be checked';
  }
}

function isNotMissing(error: NodeJS.ErrnoException): boolean {
  return error.code !== 'ENOENT';
}

function emptyIfMissing(error: NodeJS.ErrnoException): readonly string[] | undefined {
  return error.code === 'ENOENT' ? [] : undefined;
}

function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder + sep);
}
