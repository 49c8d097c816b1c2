import { lstatSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { bareNames } from '../../git/repositories/read-folder.ts';
import {
  type FoundRepository,
  maxRepositories,
  RepositorySearch,
  tooManyRepositories,
} from '../../git/repositories/repository-search.ts';
import { placesInSettings, userConfigFiles } from '../../git/repositories/settings-places.ts';
import {
  alternatesOf,
  readCommonFolder,
  readGitFolder,
} from '../../git/repositories/submodules.ts';
import { atRealEntry } from '../../workspace/folder.ts';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';

/**
 * Returns the places in the workspace that can make git run programs:
 *
 * - The settings and hooks of the repository, its submodules, its worktrees, and repositories in inner
 *   folders.
 * - Files that make git read settings from a different place.
 * - Places to which the settings refer.
 *
 * The workspace can be inside a repository, so the settings of repositories above it count too. Throws a
 * `SandboxError` if not all places can be found.
 */
export function gitPlaces(
  root: string,
  repositories: RepositorySearch | readonly FoundRepository[],
  { creates = false, packages = [], onRead = () => {} }: PlaceOptions = {},
): GitPlaces {
  const found = new Set<string>();
  const named = new Set<string>();
  const pinned = new Set<string>();
  const folders = new Set<string>();
  const programs = new Set<string>();
  const seen = new Set<string>();
  const search = { root, found, named, pinned, programs, folders, creates, onRead, seen };
  const git = join(root, '.git');
  // If the workspace has a HEAD, git may treat the workspace itself as a repository.
  const head = join(root, 'HEAD');
  found.add(head);
  if (entryOf(head) !== undefined)
    for (const name of ['config', 'hooks', 'commondir']) found.add(join(root, name));
  if (bareNames.every((name) => entryOf(join(root, name)) !== undefined)) addBare(root, search);
  if (entryOf(git) === undefined) found.add(git);
  addWorktree(root, search);
  for (const folder of foldersAbove(root)) {
    if (isOwn(join(folder, '.git'), root)) addWorktree(folder, search);
    if (isOwn(join(folder, 'HEAD'), root)) addRepository(folder, folder, search);
  }
  const searched =
    repositories instanceof RepositorySearch ? repositories.find(root) : repositories;
  const isNew = ({ folder }: FoundRepository) => !searched.some((one) => one.folder === folder);
  const below = [...searched, ...packages.filter(isNew)];
  for (const { folder, isBare, hasGit } of below) {
    if (isBare) addBare(folder, search);
    if (hasGit) addWorktree(folder, search);
  }
  const places = { guarded: [...found, ...named], pinned: [...pinned], programs: [...programs] };
  return { ...places, named: [...named, ...programs], folders: [...folders], below };
}

interface PlaceOptions {
  /**
   * If true, the function creates missing folders, such as `hooks`. The sandbox of Linux cannot guard a missing path,
   * and git accepts empty folders. Default: false.
   */
  readonly creates?: boolean | undefined;
  /** The repositories in `node_modules` folders. Default: none. */
  readonly packages?: readonly FoundRepository[] | undefined;
  /** Gets each file with settings, and each folder with hooks, immediately before it is read. Default: nothing. */
  readonly onRead?: ((path: string) => void) | undefined;
}

/**
 * The settings of version control systems other than git, relative to a workspace. These systems run programs
 * from their settings, most of them even for commands that only show data. Sapling stores its settings in
 * `.git/sl` if it uses a git repository.
 */
export const otherSettings: readonly string[] = [
  ...['.hg/hgrc', '.hg/hgrc-not-shared', '.hg/sharedpath'],
  ...['.jj/repo/config.toml', '.jj/config.toml', '.jj/workspace-config.toml'],
  ...['.sl/config', '.sl/hgrc', '.sl/sharedpath', '.git/sl/config', '.git/sl/hgrc'],
  ...['_darcs/prefs/defaults', '.pijul/config'],
];

/** The paths in a workspace that git uses, as absolute paths. They may not exist. */
export interface GitPlaces {
  /** The paths that no command may change or create. */
  readonly guarded: readonly string[];
  /** The places in `guarded` and `programs` to which settings and links lead. */
  readonly named: readonly string[];
  /**
   * The programs that the settings name, and their files. No command may change them. They may have several hard links,
   * because package managers create hard links.
   */
  readonly programs: readonly string[];
  /** The paths that no command may move or remove. Otherwise git would no longer find the guarded paths. */
  readonly pinned: readonly string[];
  /**
   * The git folders in the workspace, such as `.git`, and links in them. If the workspace itself is a bare repository,
   * also its entries.
   */
  readonly folders: readonly string[];
  /** The repositories in inner folders. */
  readonly below: readonly FoundRepository[];
}

/**
 * True if git would use a repository with this owner. Git refuses a repository of a different user, because
 * any user can create one in a shared folder such as `/tmp`.
 */
export function isOwn(path: string, root: string): boolean {
  const entry = entryOf(path);
  return entry !== undefined && [process.getuid?.(), 0, entryOf(root)?.uid].includes(entry.uid);
}

/** Returns the folders above a path. The nearest is first. */
export function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...foldersAbove(parent)];
}

interface Search {
  readonly root: string;
  readonly creates: boolean;
  readonly pinned: Set<string>;
  readonly programs: Set<string>;
  readonly found: Set<string>;
  /** The places to which settings and links lead. */
  readonly named: Set<string>;
  readonly folders: Set<string>;
  readonly onRead: (path: string) => void;
  readonly seen: Set<string>;
}

/** Adds the repository of a folder. Its `.git` can be a folder, or a file with the path of a folder. */
function addWorktree(worktree: string, search: Search): void {
  const git = join(worktree, '.git');
  const entry = entryOf(git);
  if (entry === undefined) return;
  if (!entry.isDirectory()) search.found.add(git);
  addNamedFolder(readGitFolder(worktree), git, worktree, search);
}

/**
 * Adds a repository whose folder is named in a file. Throws a `SandboxError` if git may use a different folder,
 * because that folder would not be guarded.
 */
function addNamedFolder(
  folder: ReturnType<typeof readGitFolder>,
  file: string,
  worktree: string,
  search: Search,
): void {
  if (folder === 'unclear') throw unclearPath(file);
  if (folder === undefined) return;
  const { path, real = path } = folder;
  // A link in the path is guarded too.
  for (const git of new Set([path, real])) addRepository(git, worktree, search);
}

function unclearPath(file: string): SandboxError {
  const why = 'its path has unusual characters, or it is no ordinary file';
  const message = `Cannot protect the repository to which ${file} leads: ${why}. Replace the file, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path: file });
}

/**
 * Adds a bare repository. Git recognizes the repository by these names, so a command must not remove or
 * rename them.
 */
function addBare(folder: string, search: Search): void {
  for (const path of bareNames.map((name) => join(folder, name)))
    if (entryOf(path) !== undefined) search.pinned.add(path);
  addRepository(folder, folder, search);
}

function addRepository(git: string, worktree: string, search: Search): void {
  const { root, found, named, folders, onRead, seen } = search;
  // A repository can have several worktrees, and its settings name hooks relative to each of them.
  const key = `${git}\0${worktree}`;
  if (seen.has(key)) return;
  // Each repository can refer to two more, through `gitdir` and `commondir`.
  if (seen.size >= 3 * maxRepositories) throw tooManyRepositories(root);
  seen.add(key);
  for (const store of alternatesOf(git))
    if (isBelow(root, store) && entryOf(store) !== undefined) folders.add(store);
  if (isBelow(root, git) && entryOf(git) !== undefined) {
    folders.add(git);
    for (const name of foldersWithLinks) addLinks(join(git, name), folders);
  }
  // The workspace itself must stay writable, so the entries are guarded one by one.
  if (git === root) for (const name of bareEntries) folders.add(join(root, name));
  const at = (name: string) => join(git, name);
  const common = readCommonFolder(git);
  // A linked worktree uses the settings and hooks of the common folder.
  addNamedFolder(common, at('commondir'), worktree, search);
  const mayCreate = search.creates && isFolderInside(git, root);
  for (const name of ['hooks', 'modules', 'worktrees']) {
    if (mayCreate && common === undefined && entryOf(at(name)) === undefined)
      createFolder(at(name));
    found.add(at(name));
  }
  onRead(at('hooks'));
  addLinks(at('hooks'), named);
  // `remotes` and `branches` are old places for remotes. If a remote is a folder, `git push` runs the hooks
  // of that folder.
  for (const name of ['config', 'config.worktree', 'commondir', 'remotes', 'branches'])
    found.add(at(name));
  // When a rebase in progress continues, git runs the commands in its list.
  for (const name of ['rebase-merge', 'rebase-apply'])
    if (entryOf(at(name)) !== undefined) found.add(at(name));
  const files = [at('config'), at('config.worktree'), ...userConfigFiles(process.env)];
  const places = placesInSettings(files, [worktree, git], root, onRead);
  const { hooks, included, programs, links, unclear } = places;
  const [unclearSetting] = unclear;
  if (unclearSetting !== undefined) throw unclearPlace(git, unclearSetting);
  const ofRoot = [...hooks].find((folder) => isInside(folder, root));
  if (ofRoot !== undefined) throw insideHooks(root, ofRoot);
  for (const place of [...hooks, ...included, ...links]) named.add(place);
  for (const place of programs) search.programs.add(place);
  for (const folder of hooks) {
    onRead(folder);
    addLinks(folder, named);
  }
}

function unclearPlace(git: string, path: string): SandboxError {
  const message = `Cannot protect the repository ${git}: its settings name ${path}, and Millrace cannot find all these places. Replace a path by an absolute one, remove files, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path: git });
}

function insideHooks(root: string, hooks: string): SandboxError {
  const message = `Cannot protect ${hooks}: it contains the hooks of git, and commands may change ${root}, which is a part of it. Work in a folder above, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path: root });
}

/**
 * The folders of a git folder in which a link can lead to a file that git reads in each repository, and in which the
 * guard of the git folder itself does not search for links.
 */
const foldersWithLinks = ['objects', 'objects/info', 'objects/pack'] as const;

/** The entries of a bare repository that git uses, and which the sandbox does not guard for all commands. */
const bareEntries = [
  ...['HEAD', 'refs', 'objects', 'packed-refs', 'info', 'logs', 'rr-cache', 'index', 'shallow'],
  ...['reftable', 'MERGE_RR', 'sequencer', 'rebase-merge', 'rebase-apply'],
] as const;

/** Maximum number of entries of a folder to check for links. Git has 28 hooks. */
const maxLinked = 1000;

/** Adds the entries of a folder that are links, because the target of a link is in a different folder. */
function addLinks(folder: string, found: Set<string>): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }).slice(0, maxLinked))
      if (entry.isSymbolicLink()) found.add(join(folder, entry.name));
  } catch {
    // The folder does not exist, or this user cannot list it.
  }
}

/**
 * True if the path is a folder inside the root. A `.git` file can contain a path through a link, and this
 * code must not create folders outside the root.
 */
function isFolderInside(path: string, root: string): boolean {
  try {
    return lstatSync(path).isDirectory() && `${realpathSync(path)}${sep}`.startsWith(root + sep);
  } catch {
    return false;
  }
}

function createFolder(path: string): void {
  try {
    atRealEntry(path, (entry) => mkdirSync(entry));
  } catch {
    // The command cannot write to the folder either, or another process replaced the folder. The name is watched.
  }
}
