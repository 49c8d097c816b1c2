import { lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { readGitSettings } from '../git/read-git-settings.ts';
import { bareNames } from '../git/repositories/read-folder.ts';
import {
  type FoundRepository,
  maxRepositories,
  type RepositorySearch,
  tooManyRepositories,
} from '../git/repositories/repository-search.ts';
import { entryOf } from '../workspace/real-form.ts';

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
  repositories: RepositorySearch,
  { creates = false, hasMissing = false, packages = [] }: PlaceOptions = {},
): GitPlaces {
  const found = new Set<string>();
  const pinned = new Set<string>();
  const search = { root, found, pinned, creates, hasMissing, seen: new Set<string>() };
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
  const searched = repositories.find(root);
  const isNew = ({ folder }: FoundRepository) => !searched.some((one) => one.folder === folder);
  const below = [...searched, ...packages.filter(isNew)];
  for (const { folder, isBare, hasGit } of below) {
    if (isBare) addBare(folder, search);
    if (hasGit) addWorktree(folder, search);
  }
  return { guarded: [...found], pinned: [...pinned], below };
}

interface PlaceOptions {
  /** If true, the function creates missing folders. Git accepts empty folders. Default: false. */
  readonly creates?: boolean | undefined;
  /**
   * If true, the result contains the folders `hooks`, `modules` and `worktrees` of repositories without them. The
   * sandbox of Linux cannot guard a missing path, so it creates these folders instead. Default: false.
   */
  readonly hasMissing?: boolean | undefined;
  /** The repositories in `node_modules` folders. Default: none. */
  readonly packages?: readonly FoundRepository[] | undefined;
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
  /** The paths that no command may move or remove. Otherwise git would no longer find the guarded paths. */
  readonly pinned: readonly string[];
  /** The repositories in inner folders. */
  readonly below: readonly FoundRepository[];
}

/**
 * True if git would use a repository with this owner. Git refuses a repository of a different user, because
 * any user can create one in a shared folder such as `/tmp`.
 */
function isOwn(path: string, root: string): boolean {
  const entry = entryOf(path);
  return entry !== undefined && [process.getuid?.(), 0, entryOf(root)?.uid].includes(entry.uid);
}

function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...foldersAbove(parent)];
}

interface Search {
  readonly root: string;
  readonly creates: boolean;
  readonly hasMissing: boolean;
  readonly pinned: Set<string>;
  readonly found: Set<string>;
  readonly seen: Set<string>;
}

/** Adds the repository of a folder. Its `.git` can be a folder, or a file with the path of a folder. */
function addWorktree(worktree: string, search: Search): void {
  const git = join(worktree, '.git');
  const entry = entryOf(git);
  if (entry === undefined) return;
  if (entry.isDirectory()) return addRepository(git, worktree, search);
  search.found.add(git);
  const target = /^gitdir:[ \t]*([^\r\n]+)/.exec(contentOf(git) ?? '')?.[1];
  if (target !== undefined) addRepository(resolve(worktree, target), worktree, search);
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
  const { root, found, seen, hasMissing } = search;
  if (seen.has(git)) return;
  // Each repository can refer to two more, through `gitdir` and `commondir`.
  if (seen.size >= 3 * maxRepositories) throw tooManyRepositories(root);
  seen.add(git);
  const at = (name: string) => join(git, name);
  const common = contentOf(at('commondir'))?.trim();
  // A linked worktree uses the settings and hooks of the common folder.
  if (common !== undefined && common !== '') addRepository(resolve(git, common), worktree, search);
  const isInside = search.creates && isFolderInside(git, root);
  for (const name of ['hooks', 'modules', 'worktrees']) {
    if (isInside && common === undefined && entryOf(at(name)) === undefined) createFolder(at(name));
    if (hasMissing || entryOf(at(name)) !== undefined) found.add(at(name));
  }
  addLinkedHooks(at('hooks'), found);
  // `remotes` and `branches` are old places for remotes. If a remote is a folder, `git push` runs the hooks
  // of that folder.
  for (const name of ['config', 'commondir', 'remotes', 'branches']) found.add(at(name));
  // When a rebase in progress continues, git runs the commands in its list.
  for (const name of ['rebase-merge', 'rebase-apply', 'config.worktree'])
    if (entryOf(at(name)) !== undefined) found.add(at(name));
  const text = contentOf(at('config'));
  if (text === undefined ? entryOf(at('config')) !== undefined : /worktreeconfig/i.test(text))
    found.add(at('config.worktree'));
  for (const file of [at('config'), at('config.worktree'), ...userConfigFiles(process.env)])
    addNamed(file, { folders: [worktree, git], home: homedir(), found, read: new Set() });
}

/**
 * Returns the configuration files of the user and of the system. A relative path in them refers to the
 * workspace.
 */
function userConfigFiles(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const home = homedir();
  const folder = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const named = [env['GIT_CONFIG_GLOBAL'], env['GIT_CONFIG_SYSTEM']].map((file) => file ?? '');
  const usual = [join(home, '.gitconfig'), join(folder, 'git/config'), '/etc/gitconfig'];
  return [...new Set([...usual, join(home, '.config/git/config'), ...named])].filter(isAbsolute);
}

interface NamedSearch {
  /**
   * The worktree and the git folder. Git runs most hooks in the worktree, but the hooks of `git push` in the
   * git folder.
   */
  readonly folders: readonly [worktree: string, git: string];
  readonly home: string;
  readonly found: Set<string>;
  readonly read: Set<string>;
}

/** Maximum number of files that one configuration can include. */
const maxIncluded = 50;

/** Adds the hook folders and the included files of a configuration file. */
function addNamed(file: string, search: NamedSearch): void {
  const { folders, home, found, read } = search;
  if (read.has(file) || read.size > maxIncluded) return;
  read.add(file);
  const settings = readGitSettings(contentOf(file) ?? '');
  // A repository can have its worktree in a different folder.
  const worktrees = settings
    .filter(({ section, key }) => section === 'core' && key === 'worktree')
    .map(({ value }) => resolve(folders[1], value));
  for (const { section, key, value } of settings) {
    const path = value.replace(/^~(?=\/|$)/, home);
    // `~user/` and `%(prefix)/` are outside the workspace.
    if (path === '' || /^[~%]/.test(path)) continue;
    if (section === 'core' && key === 'hookspath')
      for (const folder of [...folders, ...worktrees]) {
        const hooks = withoutHelpers(resolve(folder, path));
        found.add(hooks);
        addLinkedHooks(hooks, found);
      }
    if ((section === 'include' || section === 'includeif') && key === 'path') {
      const included = resolve(dirname(file), path);
      found.add(included);
      addNamed(included, search);
    }
  }
}

/** Maximum number of entries in a hook folder to check for links. Git has 28 hooks. */
const maxHooks = 1000;

/** Adds hooks that are links, because the target of the link is in a different folder. */
function addLinkedHooks(folder: string, found: Set<string>): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }).slice(0, maxHooks))
      if (entry.isSymbolicLink()) found.add(join(folder, entry.name));
  } catch {
    // The folder does not exist, or this user cannot list it.
  }
}

/**
 * Husky creates hooks in `.husky/_`. They run the file with the same name in the parent folder, so the parent
 * folder is returned.
 */
function withoutHelpers(hooks: string): string {
  return basename(hooks) === '_' ? dirname(hooks) : hooks;
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
    mkdirSync(path);
  } catch {
    // This process cannot create the folder, so a command cannot create it either.
  }
}

/** Maximum size of a git file to read, in bytes. */
const maxBytes = 1_048_576;

/** Returns the content of a file. Returns undefined if the file does not exist or is too large. */
function contentOf(path: string): string | undefined {
  try {
    // Git follows a link to a file, so this code also follows it.
    const entry = statSync(path, { throwIfNoEntry: false });
    return entry?.isFile() && entry.size <= maxBytes ? readFileSync(path, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}
