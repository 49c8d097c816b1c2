import { lstatSync, mkdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { readGitSettings } from '../git/read-git-settings.ts';
import { maxRepositories, type RepositorySearch } from '../git/repository-search.ts';

/**
 * Places in the workspace that make git run programs: settings and hooks of the repository, of its
 * submodules and of its worktrees, of repositories in folders below, files that make git look for
 * the settings somewhere else, and places that the settings name. Missing folders are created,
 * because git accepts empty ones.
 */
export function gitPlaces(root: string, repositories: RepositorySearch): readonly string[] {
  const found = new Set<string>();
  const search = { root, found, seen: new Set<string>() };
  const git = join(root, '.git');
  // With a HEAD, git can take the workspace itself for a repository.
  const head = join(root, 'HEAD');
  found.add(head);
  if (entryOf(head) !== undefined)
    for (const name of ['config', 'hooks']) found.add(join(root, name));
  if (entryOf(git) === undefined) found.add(git);
  addWorktree(root, search);
  for (const { folder, isBare } of repositories.find(root)) {
    if (isBare) addRepository(folder, folder, search);
    else addWorktree(folder, search);
  }
  return [...found];
}

interface Search {
  readonly root: string;
  readonly found: Set<string>;
  readonly seen: Set<string>;
}

/** Adds the repository of a folder. `.git` can be a folder, or a file that names one. */
function addWorktree(worktree: string, search: Search): void {
  const git = join(worktree, '.git');
  const entry = entryOf(git);
  if (entry === undefined) return;
  if (entry.isDirectory()) return addRepository(git, worktree, search);
  search.found.add(git);
  const target = /^gitdir:[ \t]*([^\r\n]+)/.exec(contentOf(git) ?? '')?.[1];
  if (target !== undefined) addRepository(resolve(worktree, target), worktree, search);
}

function addRepository(git: string, worktree: string, search: Search): void {
  const { root, found, seen } = search;
  if (seen.has(git) || seen.size >= maxRepositories) return;
  seen.add(git);
  const at = (name: string) => join(git, name);
  const common = contentOf(at('commondir'))?.trim();
  // Git takes settings and hooks of a linked worktree from the common folder.
  if (common !== undefined && common !== '') addRepository(resolve(git, common), worktree, search);
  const isInside = isFolderInside(git, root);
  for (const name of ['hooks', 'modules', 'worktrees']) {
    if (isInside && common === undefined && entryOf(at(name)) === undefined) createFolder(at(name));
    if (entryOf(at(name)) !== undefined) found.add(at(name));
  }
  // The last two are old places of remotes. Of a remote that is a folder, `git push` runs the hooks.
  for (const name of ['config', 'commondir', 'remotes', 'branches']) found.add(at(name));
  // A rebase that has begun runs the commands of its list when it continues.
  for (const name of ['rebase-merge', 'rebase-apply', 'config.worktree'])
    if (entryOf(at(name)) !== undefined) found.add(at(name));
  const text = contentOf(at('config'));
  if (text === undefined ? entryOf(at('config')) !== undefined : /worktreeconfig/i.test(text))
    found.add(at('config.worktree'));
  for (const file of [at('config'), at('config.worktree'), ...userConfigFiles(process.env)])
    addNamed(file, { worktree, home: homedir(), found, read: new Set() });
}

/** The configuration files of the user and of the system. Their relative paths are in the workspace. */
function userConfigFiles(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const home = homedir();
  const folder = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const named = [env['GIT_CONFIG_GLOBAL'], env['GIT_CONFIG_SYSTEM']].map((file) => file ?? '');
  const usual = [join(home, '.gitconfig'), join(folder, 'git/config'), '/etc/gitconfig'];
  return [...new Set([...usual, join(home, '.config/git/config'), ...named])].filter(isAbsolute);
}

interface NamedSearch {
  readonly worktree: string;
  readonly home: string;
  readonly found: Set<string>;
  readonly read: Set<string>;
}

/** Maximum number of files that one configuration includes. */
const maxIncluded = 50;

/** Adds the folders of hooks and the further files that a configuration file names. */
function addNamed(file: string, search: NamedSearch): void {
  const { worktree, home, found, read } = search;
  if (read.has(file) || read.size > maxIncluded) return;
  read.add(file);
  for (const { section, key, value } of readGitSettings(contentOf(file) ?? '')) {
    const path = value.replace(/^~(?=\/|$)/, home);
    // `~user/` and `%(prefix)/` lead to places of the system.
    if (path === '' || /^[~%]/.test(path)) continue;
    if (section === 'core' && key === 'hookspath') found.add(resolve(worktree, path));
    if ((section === 'include' || section === 'includeif') && key === 'path') {
      const included = resolve(dirname(file), path);
      found.add(included);
      addNamed(included, search);
    }
  }
}

/** Returns undefined if nothing is there, or if this user cannot reach it. */
export function entryOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** A file `.git` can name a path through a link, and nothing may be created elsewhere. */
function isFolderInside(path: string, root: string): boolean {
  try {
    return lstatSync(path).isDirectory() && realpathSync(path).startsWith(root + sep);
  } catch {
    return false;
  }
}

function createFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch {
    // The folder cannot be created here, and neither by a command.
  }
}

/** Maximum size of a file of git that is read. */
const maxBytes = 1_048_576;

/** Returns undefined if there is no file, or if it is too large. */
function contentOf(path: string): string | undefined {
  try {
    // A link to a file is followed, as git does.
    const entry = statSync(path, { throwIfNoEntry: false });
    return entry?.isFile() && entry.size <= maxBytes ? readFileSync(path, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}
