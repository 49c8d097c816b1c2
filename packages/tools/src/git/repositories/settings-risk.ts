import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isQuietGitConfig } from '../git-config.ts';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFile } from '../read-regular-file.ts';
import { RepositorySearch } from './repository-search.ts';
import { gitFolderOf, readPointerFile, realPath } from './submodules.ts';

interface SettingsOptions {
  /** The real path of the workspace. */
  readonly root: string;
  /**
   * Whether the command had network. If it had none, its repository must not make git connect to a
   * server: the address can contain a secret.
   */
  readonly network: boolean;
}

interface GitOptions extends SettingsOptions {
  /** The folders with settings that no command can change. A `.git` file may point to them. */
  readonly guarded: readonly string[];
  readonly search: RepositorySearch;
}

/**
 * Returns the reason why a `.git` that a command created makes git run programs. The `.git` is a folder,
 * or a file that names a folder. Anything that this function cannot read in the same way as git counts as
 * a risk.
 */
export async function riskOfGit(git: string, options: GitOptions): Promise<string | undefined> {
  const { root, guarded } = options;
  const entry = await lstat(git).catch(() => undefined);
  if (entry === undefined) return undefined;
  if (entry.isDirectory()) return riskOfRepository(git, dirname(git), options);
  if (!entry.isFile()) return 'it is neither a file nor a folder';
  const pointer = readPointerFile(git);
  // Git refuses such a file, so it is harmless.
  if (pointer === undefined) return undefined;
  const real = pointer === 'unclear' ? undefined : plainPath(dirname(git), pointer.path);
  // The folder does not exist or the path is unusual. The next command could create the folder.
  if (real === undefined) return 'it leads to nothing, through a link or to an unusual name';
  if (!isInside(root, real)) return 'it leads out of the workspace';
  const isGuarded = guarded.some((place) => isInside(place, real));
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

/** A file in a folder of work that has begun, a pattern for what is a risk in it, and the reason. */
type BegunCheck = readonly [file: string, risk: RegExp, why: string];

/** Git runs any other strategy as a program. If its name has a slash, the program is in the worktree. */
const strategies = '(?:ort|recursive|subtree|ours)';
/** Other options, such as `--build-fake-ancestor`, write to any file. */
const patchOptions =
  "'(?:-[pC]\\d+|--(?:whitespace|directory|include|exclude)=[^']*|--(?:ignore-space-change|ignore-whitespace|reject))'";

/** The folders of a rebase, of `git am`, and of several cherry-picks or reverts. */
type BegunName = 'rebase-merge' | 'rebase-apply' | 'sequencer';

/** What is checked in work that has begun, and that the user may continue. */
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

/** The names of the folders of work that has begun. */
export const begunNames: readonly BegunName[] = Object.keys(begunChecks) as readonly BegunName[];

/** Returns why git would do harm when the user continues work that has begun in a repository. */
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

/** True if a file in a folder matches, or cannot be read. False if there is no such file. */
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
 * True if a repository has a worktree in which the search does not find the submodules. The search finds
 * them only in a folder with a `.git` that leads to the repository.
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

/** Returns the other folders that a repository uses as its worktree. */
async function worktreesOf(git: string): Promise<readonly string[]> {
  const config = await readRegularFile(join(git, 'config'), maxConfigBytes);
  return readGitSettings(config?.toString('utf8') ?? '')
    .filter(({ section, key }) => section === 'core' && key === 'worktree')
    .map(({ value }) => plainPath(git, value) ?? '');
}

/**
 * Resolves a path that git reads from a file. Returns undefined if the path does not exist or goes
 * through links. `resolve` ignores links, and they could later lead to another place.
 */
function plainPath(folder: string, path: string): string | undefined {
  const plain = resolve(folder, path);
  return realPath(isAbsolute(path) ? path : `${folder}/${path}`) === plain ? plain : undefined;
}

const maxNameBytes = 4096;
const maxConfigBytes = 1_048_576;
/**
 * Maximum depth of nested repositories. A submodule can have submodules, and a worktree uses the settings
 * of its repository.
 */
const maxDepth = 5;
/** No path of a submodule leads into the folders of objects here, because they are in a `.git`. */
const modulesSearch = { maxFolders: 2000, skipsObjects: true, searchesPackages: true } as const;

/**
 * Returns the reason why a git folder that a command created makes git run programs. The usual settings
 * of clones are accepted, with or without submodules.
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
    const isWorktree = (value: string) => isInside(root, resolve(git, value));
    if (config === undefined || !isQuietGitConfig(config, { isWorktree, isPartial: network }))
      return 'it has settings that are not known to be harmless';
  }
  if (await isThere('commondir')) {
    const common = (await readRegularFile(at('commondir'), maxNameBytes))?.toString('utf8');
    const name = /^([^\s\uFFFD]+)\n?$/.exec(common ?? '')?.[1];
    const shared = name === undefined ? undefined : plainPath(git, name);
    if (shared === undefined || !isInside(root, shared))
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

function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder + sep);
}
