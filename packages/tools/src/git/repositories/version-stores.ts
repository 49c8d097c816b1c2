import { lstatSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PermissionPolicy } from '../../permissions/permission-policy.ts';
import { isVersionStore } from '../../permissions/read-only/secret-names.ts';
import { isCutName, isKeptName, withOldNames } from '../../workspace/kept-names.ts';
import { lexicalPath } from '../../workspace/match-path.ts';
import { trackedPaths } from '../index-reader.ts';
import { isPartOfRepository, repositoryKinds } from './read-folder.ts';
import { commonFolderOf, gitFolderOf } from './submodules.ts';

/** Maximum number of stores to check, because each check reads an index. */
const maxStores = 200;

/** No name of a store is longer. This check is fast, and a workspace has many names. */
const maxStoreName = 12;

/**
 * Collects the folders in which programs keep versions of files: git repositories, and the folders of other version
 * control systems. A command can read a denied file from such a folder, although the sandbox hides the file.
 */
export class VersionStores {
  /** The folders with an entry `.git`. */
  readonly #worktrees: string[] = [];
  /** The folders that git can use as a repository without an entry `.git`. */
  readonly #gitFolders: string[] = [];
  readonly #others: string[] = [];

  /** Adds the stores directly in a folder. */
  add(folder: string, all: readonly string[]): void {
    const names = all.filter((name) => name.length <= maxStoreName);
    const { isBare, hasGit } = repositoryKinds(names);
    if (hasGit) this.#worktrees.push(folder);
    if (isBare) this.#gitFolders.push(folder);
    for (const name of names) if (isVersionStore(name)) this.#others.push(join(folder, name));
    for (const name of all.filter(isKeptName)) this.#addRenamed(folder, name);
  }

  /** Adds an entry that the sandbox has renamed. Its content is still there. */
  #addRenamed(folder: string, name: string): void {
    const old = withOldNames(name);
    if (isCutName(name) || old === '.git' || isVersionStore(old))
      this.#others.push(join(folder, name));
    else if (isPartOfRepository(old)) this.#gitFolders.push(folder);
  }

  /** Returns the reason why a command may read a denied path from a store. Returns undefined if there is none. */
  gap(policy: PermissionPolicy, tool: string): string | undefined {
    const { root } = policy;
    // A store that is denied itself is hidden. Otherwise its folder must contain no denied path.
    const other = this.#others.find(
      (store) =>
        policy.mayReach(tool, { path: store, kind: 'read' }) &&
        !policy.mayReach(tool, { path: dirname(store), kind: 'search' }),
    );
    if (other !== undefined) return `${other} can contain versions of denied files`;
    const worktrees = [...this.#worktrees, ...repositoriesAbove(root)];
    if (worktrees.length + this.#gitFolders.length > maxStores)
      return `the workspace has more than ${maxStores} repositories`;
    const mayHold = (folder: string) => !policy.mayReach(tool, { path: folder, kind: 'search' });
    /** The folder that the paths of an index belong to, by git folder. */
    const folders = new Map<string, string>();
    for (const folder of worktrees) {
      const git = gitFolderOf(folder);
      if (git !== undefined) folders.set(git, folder);
      else if (mayHold(folder)) return cannotCheck(folder, root);
    }
    for (const git of this.#gitFolders) {
      if (folders.has(git)) continue;
      const folder = folders.get(commonFolderOf(git));
      if (folder !== undefined) folders.set(git, folder);
      // Nobody knows which folder the paths of this repository belong to.
      else if (hasObjects(git) && mayHold(root)) return cannotCheck(git, root);
    }
    for (const [git, folder] of folders) {
      const tracked =
        isThere(join(git, 'index')) || !hasObjects(git) ? trackedPaths(git) : undefined;
      if (tracked === undefined && mayHold(folder)) return cannotCheck(folder, root);
      const denied = tracked
        ?.map((path) => join(folder, path))
        .find((path) => !policy.mayReach(tool, { path, kind: 'read' }));
      if (denied !== undefined)
        return `git tracks ${lexicalPath(root, denied).shown}, which is denied`;
    }
    return undefined;
  }
}

function cannotCheck(folder: string, root: string): string {
  const { shown } = lexicalPath(root, folder);
  const where = shown === '.' ? '' : ` in ${shown}`;
  return `the repository${where} cannot be checked for denied files`;
}

/** Returns the folders above a folder that have an entry `.git`. */
function repositoriesAbove(root: string): readonly string[] {
  const found: string[] = [];
  for (let at = root; dirname(at) !== at; ) {
    at = dirname(at);
    if (isThere(join(at, '.git'))) found.push(at);
  }
  return found;
}

/** True if a repository contains objects, or if its objects cannot be checked. */
function hasObjects(git: string): boolean {
  const objects = join(commonFolderOf(git), 'objects');
  const names = (folder: string) => (isThere(folder) ? readdirSync(folder) : []);
  try {
    return (
      names(objects).some((name) => /^[0-9a-f]{2}$/i.test(name)) ||
      names(join(objects, 'pack')).some((name) => /\.pack$/i.test(name)) ||
      names(join(objects, 'info')).some((name) => /alternates$/i.test(name))
    );
  } catch {
    return true;
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
