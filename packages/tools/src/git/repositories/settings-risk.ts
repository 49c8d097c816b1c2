import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import { riskOfAnyBegun } from '../git-folder/begun-work.ts';
import { isQuietGitConfig } from '../quiet-config.ts';
import { readGitSettings } from '../read-git-settings.ts';
import { readRegularFile, readRegularFileSync } from '../read-regular-file.ts';
import { readGitContent } from './inner-git-folders.ts';
import { RepositorySearch } from './repository-search.ts';
import { placesInSettings, userConfigFiles } from './settings-places.ts';
import {
  commonFolderOf,
  gitFolderOf,
  readCommonFolder,
  readGitFolder,
  realPath,
} from './submodules.ts';

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
  /** The paths that no command can change. */
  readonly guarded: readonly string[];
  readonly search: RepositorySearch;
}

/**
 * Returns the reason why a `.git` that a command created makes git run programs. The `.git` is a folder, or a
 * file with the path of a folder. A file that this function may read differently than git counts as a risk.
 */
export async function riskOfGit(git: string, options: GitOptions): Promise<string | undefined> {
  const { root } = options;
  const entry = await lstat(git).catch(() => undefined);
  if (entry === undefined) return undefined;
  if (entry.isDirectory()) return riskOfRepository(git, dirname(git), options);
  if (!entry.isFile()) return 'it is neither a file nor a folder';
  const folder = readGitFolder(dirname(git));
  // Git refuses this file, so it is harmless.
  if (folder === undefined) return undefined;
  // If the folder does not exist, a later command could create it.
  if (folder === 'unclear' || folder.real !== folder.path)
    return 'it leads to nothing, through a link or to an unusual name';
  if (!isBelow(root, folder.real)) return 'it leads out of the workspace';
  return riskOfRepository(folder.real, dirname(git), options);
}

async function riskOfRepository(
  git: string,
  worktree: string,
  options: GitOptions,
): Promise<string | undefined> {
  const { root, search } = options;
  const why =
    (await riskOfSettings(git, options)) ??
    (await riskOfUserHooks(git, worktree, options)) ??
    riskOfAnyBegun(git);
  if (why !== undefined) return why;
  if (search.readIndex(git).submodules === undefined) return 'its index cannot be checked';
  if (await hasHiddenWorktree(git, root, worktree)) return elsewhere;
  return riskOfInner(git, options);
}

/**
 * Returns the reason why the settings or hooks of a repository make git run programs. `folder` is its worktree, or the
 * folder of a bare repository. Unlike `riskOfGit`, it ignores the index and unfinished operations.
 */
export async function riskOfKnown(
  folder: string,
  kind: 'isBare' | 'hasGit',
  given: Omit<GitOptions, 'network'>,
): Promise<string | undefined> {
  // An earlier command with access to the network may have created the repository.
  const options = { ...given, network: true };
  const found = kind === 'isBare' ? { real: folder } : readGitFolder(folder);
  if (found === undefined) return undefined;
  if (found === 'unclear' || found.real === undefined) return 'its folder is unclear';
  // No command can change a repository outside of the workspace.
  if (!isInside(options.root, found.real)) return undefined;
  return (
    (await riskOfSettings(found.real, options)) ??
    (await riskOfUserHooks(found.real, folder, options))
  );
}

/** Returns the reason why a folder that looks like a bare repository makes git run programs. */
export async function riskOfBare(folder: string, options: GitOptions): Promise<string | undefined> {
  const { root, search } = options;
  const why =
    (await riskOfSettings(folder, options)) ??
    (await riskOfUserHooks(folder, folder, options)) ??
    riskOfAnyBegun(folder);
  if (why !== undefined) return why;
  if (search.readIndex(folder).submodules === undefined) return 'its index cannot be checked';
  if (await hasHiddenWorktree(folder, root)) return elsewhere;
  return riskOfInner(folder, options);
}

/**
 * Returns the reason why a repository inside a git folder is a risk. It accepts the repositories of submodules and
 * linked worktrees in the form in which git creates them.
 */
async function riskOfInner(git: string, options: GitOptions): Promise<string | undefined> {
  try {
    const { inner, unusual } = await readGitContent(git);
    const shared = commonFolderOf(git);
    const others = shared === git ? undefined : (await readGitContent(shared)).unusual;
    const entry = unusual ?? others;
    if (entry !== undefined)
      return `its ${entry} is a link, or another entry that git does not create`;
    for (const { folder, owner, isUsual } of inner) {
      const name = relative(git, folder);
      const common = readCommonFolder(folder);
      const isLinked =
        basename(dirname(folder)) === 'worktrees' && dirname(dirname(folder)) === owner;
      const expected = isLinked ? owner : undefined;
      const isForm =
        common === undefined ? !isLinked : common !== 'unclear' && common.real === expected;
      if (!isUsual || !isForm) return `it has the repository ${name} in it`;
      const why = (await riskOfSettings(folder, options)) ?? riskOfAnyBegun(folder);
      if (why !== undefined) return `its repository ${name}: ${why}`;
      if (options.search.readIndex(folder).submodules === undefined)
        return `its repository ${name}: its index cannot be checked`;
    }
    return undefined;
  } catch (error) {
    if (error instanceof SandboxError) return 'its submodules cannot be checked';
    throw error;
  }
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
  if ((await isThere('config.worktree')) && !isSparseConfig(at('config.worktree')))
    return 'it has settings of a worktree';
  if (await hasHooks(at('hooks'))) return 'it has hooks';
  if (await isThere('config')) {
    const config = (await readRegularFile(at('config'), maxConfigBytes))?.toString('latin1');
    const isWorktree = (value: string) => isBelow(root, resolve(git, value));
    if (config === undefined || !isQuietGitConfig(config, { isWorktree, isPartial: network }))
      return 'it has settings that are not known to be harmless';
  }
  const shared = readCommonFolder(git);
  if (shared === 'unclear' || shared?.real !== shared?.path || !isBelow(root, shared?.real ?? git))
    return 'its settings are outside of the workspace';
  if (shared !== undefined && shared.path !== git)
    return riskOfSettings(shared.path, options, depth + 1);
  return (await isThere('modules')) ? riskOfModules(at('modules'), options, depth) : undefined;
}

/**
 * True for the `config.worktree` that git writes for a sparse checkout. Git combines this file with `config`, so it
 * must have no other settings, also no settings that would be harmless in a single file.
 */
export function isSparseConfig(path: string): boolean {
  const lines = readRegularFileSync(path, maxConfigBytes)?.toString('latin1').split('\n');
  const isSparse = (line: string) =>
    /^(?:|\[core\]|\[index\]|\t(?:sparseCheckout|sparseCheckoutCone|sparse) = (?:true|false))$/.test(
      line,
    );
  return basename(path) === 'config.worktree' && lines?.every(isSparse) === true;
}

/**
 * Returns a reason if a repository has hooks in a folder that the settings of the user name. The setting
 * `core.hooksPath` can be relative, and then each repository has its own folder.
 */
async function riskOfUserHooks(
  git: string,
  worktree: string,
  { root, guarded }: GitOptions,
): Promise<string | undefined> {
  const files = [join(git, 'config'), ...userConfigFiles(process.env)];
  for (const folder of placesInSettings(files, [worktree, git]).hooks) {
    const isWritable = isInside(root, folder) && !guarded.some((path) => isInside(path, folder));
    if (isWritable && (await hasHooks(folder))) return 'it has hooks';
  }
  return undefined;
}

async function hasHooks(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(emptyIfMissing);
  return names === undefined || names.some((name) => !name.endsWith('.sample'));
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
