import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isBelow } from '../../workspace/match-path.ts';
import { isQuietGitConfig } from '../git-config.ts';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFile } from '../read-regular-file.ts';
import { RepositorySearch } from './repository-search.ts';
import { gitFolderOf, readPointerFile, realPath } from './submodules.ts';

interface SettingsOptions {
  /** The real path of the workspace. */
  readonly root: string;
  /**
   * True if the command had access to the network. Without network access, the command's repository must not
   * make git connect to a server, because the address can contain a secret.
   */
  readonly network: boolean;
}

interface GitOptions extends SettingsOptions {
  /** The folders whose settings no command can change. A `.git` file may point to them. */
  readonly guarded: readonly string[];
  readonly search: RepositorySearch;
}

/**
 * Returns the reason why a `.git` that a command created makes git run programs. The `.git` is a folder, or a
 * file with the path of a folder. A file that this function may read differently than git counts as a risk.
 */
export async function riskOfGit(git: string, options: GitOptions): Promise<string | undefined> {
  const { root, guarded } = options;
  const entry = await lstat(git).catch(() => undefined);
  if (entry === undefined) return undefined;
  if (entry.isDirectory()) return riskOfRepository(git, dirname(git), options);
  if (!entry.isFile()) return 'it is neither a file nor a folder';
  const pointer = readPointerFile(git);
  // Git refuses this file, so it is harmless.
  if (pointer === undefined) return undefined;
  const real = pointer === 'unclear' ? undefined : plainPath(dirname(git), pointer.path);
  // The folder does not exist, or the path is unusual. A later command could create the folder.
  if (real === undefined) return 'it leads to nothing, through a link or to an unusual name';
  if (!isBelow(root, real)) return 'it leads out of the workspace';
  const isGuarded = guarded.some((place) => isBelow(place, real));
  return isGuarded ? undefined : riskOfRepository(real, dirname(git), options);
}

async function riskOfRepository(
  git: string,
  worktree: string,
  { root, network, search }: GitOptions,
): Promise<string | undefined> {
  const why = (await riskOfSettings(git, { root, network })) ?? (await riskOfAnyBegun(git));
  if (why !== undefined) return why;
  if (search.readIndex(git).submodules === undefined) return 'its index cannot be checked';
  return (await hasHiddenWorktree(git, root, worktree)) ? elsewhere : undefined;
}

/** Returns the reason why a folder that looks like a bare repository makes git run programs. */
export async function riskOfBare(
  folder: string,
  { root, network, search }: GitOptions,
): Promise<string | undefined> {
  const why = (await riskOfSettings(folder, { root, network })) ?? (await riskOfAnyBegun(folder));
  if (why !== undefined) return why;
  if (search.readIndex(folder).submodules === undefined) return 'its index cannot be checked';
  return (await hasHiddenWorktree(folder, root)) ? elsewhere : undefined;
}

/**
 * A file of an unfinished operation, a pattern that detects a risk in the file, and a description of the
 * risk.
 */
type BegunCheck = readonly [file: string, risk: RegExp, why: string];

/**
 * The built-in merge strategies. Git runs any other strategy as a program. If the name of a strategy has a
 * slash, the program is in the worktree.
 */
const strategies = '(?:ort|recursive|subtree|ours)';
/** The harmless options. Other options, such as `--build-fake-ancestor`, can write to any file. */
const patchOptions =
  "'(?:-[pC]\\d+|--(?:whitespace|directory|include|exclude)=[^']*|--(?:ignore-space-change|ignore-whitespace|reject))'";

/** The state folders of an unfinished rebase, of `git am`, and of a series of cherry-picks or reverts. */
type BegunName = 'rebase-merge' | 'rebase-apply' | 'sequencer';

/** The checks of unfinished operations that the user may continue. */
const begunChecks: Readonly<Record<BegunName, readonly BegunCheck[]>> = {
  'rebase-merge': [
    [
      'git-rebase-todo',
      /^[ \t]*(?:x|exec)(?:\s|$)/m,
      'commands, which git rebase --continue would run',
    ],
    [
      'strategy',
      new RegExp(`^(?!${strategies}\\n?$)`),
      'a strategy, which git rebase --continue would run',
    ],
  ],
  'rebase-apply': [
    [
      'apply-opt',
      new RegExp(`^(?!(?: ?${patchOptions})*\\n?$)`),
      'options, with which git am --continue would write other files',
    ],
  ],
  sequencer: [
    [
      'opts',
      new RegExp(
        `^(?![ \\t]*strategy(?:[ \\t]*=[ \\t]*${strategies}$|-option[ \\t]*=)).*strategy`,
        'im',
      ),
      'a strategy, which git cherry-pick --continue would run',
    ],
  ],
};

/** The names of the state folders of unfinished operations. */
export const begunNames: readonly BegunName[] = Object.keys(begunChecks) as readonly BegunName[];

/**
 * Returns the reason why it would be dangerous for the user to continue an unfinished operation in a
 * repository.
 */
export async function riskOfBegun(git: string, name: BegunName): Promise<string | undefined> {
  for (const [file, risk, why] of begunChecks[name])
    if (await mayMatch(join(git, name), file, risk)) return `its ${name} has ${why}`;
  return undefined;
}

async function riskOfAnyBegun(git: string): Promise<string | undefined> {
  for (const name of begunNames) {
    const why = await riskOfBegun(git, name);
    if (why !== undefined) return why;
  }
  return undefined;
}

const maxStateBytes = 1_048_576;

/** True if a file in the folder matches the pattern or cannot be read. False if the file does not exist. */
async function mayMatch(folder: string, name: string, pattern: RegExp): Promise<boolean> {
  const entry = await lstat(folder).catch(() => undefined);
  if (entry === undefined || entry.isFile()) return false;
  if (!entry.isDirectory()) return true;
  const isThere = await lstat(join(folder, name)).then(() => true, isNotMissing);
  if (!isThere) return false;
  const bytes = await readRegularFile(join(folder, name), maxStateBytes);
  return bytes === undefined || pattern.test(bytes.toString('latin1'));
}

const elsewhere = 'its worktree is another folder';

/**
 * True if a repository has a worktree whose submodules the search does not find. The search finds submodules
 * only in a folder whose `.git` leads to the repository.
 */
export async function hasHiddenWorktree(
  git: string,
  root: string,
  worktree?: string,
): Promise<boolean> {
  const isSearched = (one: string) =>
    one === worktree ||
    (gitFolderOf(one) === git && !relative(root, one).split(sep).includes('node_modules'));
  return !(await worktreesOf(git)).every(isSearched);
}

/** Returns the folders that the settings of a repository define as its worktree. */
async function worktreesOf(git: string): Promise<readonly string[]> {
  const config = await readRegularFile(join(git, 'config'), maxConfigBytes);
  return readGitSettings(config?.toString('utf8') ?? '')
    .filter(({ section, key }) => section === 'core' && key === 'worktree')
    .map(({ value }) => plainPath(git, value) ?? '');
}

/**
 * Resolves a path that git reads from a file. Returns undefined if the path does not exist or contains links,
 * because a link could later lead to a different place.
 */
function plainPath(folder: string, path: string): string | undefined {
  const plain = resolve(folder, path);
  return realPath(isAbsolute(path) ? path : `${folder}/${path}`) === plain ? plain : undefined;
}

const maxNameBytes = 4096;
const maxConfigBytes = 1_048_576;
/** Maximum depth of nested repositories. A submodule can have its own submodules. */
const maxDepth = 5;
/**
 * The search can skip `objects`, because these folders are inside a `.git`, and no path of a submodule leads
 * there.
 */
const modulesSearch = { maxFolders: 2000, skipsObjects: true, searchesPackages: true } as const;

/**
 * Returns the reason why a git folder that a command created makes git run programs. It accepts the usual
 * settings of clones, with or without submodules.
 */
async function riskOfSettings(
  git: string,
  options: SettingsOptions,
  depth = 0,
): Promise<string | undefined> {
  const { root, network } = options;
  if (depth > maxDepth) return 'it has too many repositories in it';
  const at = (name: string) => join(git, name);
  const isThere = (name: string) => lstat(at(name)).then(() => true, isNotMissing);
  if (await isThere('config.worktree')) return 'it has settings of a worktree';
  const hooks = await readdir(at('hooks')).catch(emptyIfMissing);
  if (hooks === undefined || hooks.some((name) => !name.endsWith('.sample'))) return 'it has hooks';
  if (await isThere('config')) {
    const config = (await readRegularFile(at('config'), maxConfigBytes))?.toString('utf8');
    const isWorktree = (value: string) => isBelow(root, resolve(git, value));
    if (config === undefined || !isQuietGitConfig(config, { isWorktree, isPartial: network }))
      return 'it has settings that are not known to be harmless';
  }
  if (await isThere('commondir')) {
    const common = (await readRegularFile(at('commondir'), maxNameBytes))?.toString('utf8');
    const name = /^([^\s\uFFFD]+)\n?$/.exec(common ?? '')?.[1];
    const shared = name === undefined ? undefined : plainPath(git, name);
    if (shared === undefined || !isBelow(root, shared))
      return 'its settings are outside of the workspace';
    if (shared !== git) return riskOfSettings(shared, options, depth + 1);
  }
  return (await isThere('modules')) ? riskOfModules(at('modules'), options, depth) : undefined;
}

async function riskOfModules(
  modules: string,
  options: SettingsOptions,
  depth: number,
): Promise<string | undefined> {
  try {
    const found = new RepositorySearch(modulesSearch).find(modules);
    for (const { folder } of found) {
      const why = await riskOfSettings(folder, options, depth + 1);
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
