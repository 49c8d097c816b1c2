import { isUtf8 } from 'node:buffer';
import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { gitFolderOf, IndexReader, type ReadIndex, realPath } from './submodules.ts';

/** A repository in a folder of the workspace. A folder can be bare and also have a `.git`. */
export interface FoundRepository {
  readonly folder: string;
  /** Whether the folder itself looks like a repository, without files of a worktree. */
  readonly isBare: boolean;
  /** Whether the folder has an entry `.git`. */
  readonly hasGit: boolean;
}

/**
 * A folder with entries of these names counts as a bare repository, whatever the entries contain.
 * Otherwise a command could empty one of these files, and the repository would no longer be guarded.
 */
export const bareNames = ['HEAD', 'objects', 'refs'] as const;

/**
 * True if the names show that the folder is a bare repository. With a `commondir`, git takes the objects
 * and the settings from the folder that this file names.
 */
function looksBare(names: ReadonlySet<string>): boolean {
  return (
    bareNames.every((name) => names.has(name)) || (names.has('HEAD') && names.has('commondir'))
  );
}

/** Maximum number of repositories that are guarded. */
export const maxRepositories = 200;

/** Options of `RepositorySearch`. */
interface SearchOptions {
  /**
   * A folder that changed less than this time before it was read is read again, because file systems
   * store times with a limited precision. Default: 3 s, because some file systems have a precision of two
   * seconds.
   */
  readonly settledAfterMs?: number | undefined;
  /** Maximum number of folders to search. Default: 50,000. */
  readonly maxFolders?: number | undefined;
}

/** The result of a search. */
export interface FoundRepositories {
  /** The repositories that were found. Submodules come first, then repositories near the root. */
  readonly found: readonly FoundRepository[];
  /** The reason why there may be other repositories. Undefined if all were found. */
  readonly problem?: SandboxError | undefined;
}

/** Maximum number of repositories that a search finds. It ends after this number. */
const maxFound = 10 * maxRepositories;

/**
 * Finds repositories in folders below a root. A search keeps the folders that it has read. The next
 * search reads only the folders that have changed since then.
 */
export class RepositorySearch {
  /** The folders that the last search read, by path. */
  #known: ReadonlyMap<string, ReadFolder> = new Map();
  readonly #settledAfterMs: number;
  readonly #maxFolders: number;
  readonly #indexes = new IndexReader();

  constructor({ settledAfterMs = 3000, maxFolders = 50_000 }: SearchOptions = {}) {
    this.#settledAfterMs = settledAfterMs;
    this.#maxFolders = maxFolders;
  }

  /**
   * Returns all repositories. Folders of packages are not searched, because they are large, but the
   * submodules in them are. Throws a `SandboxError` if there are too many folders or repositories, or if
   * a folder cannot be read. Otherwise a command could hide a repository among many others.
   */
  find(root: string): readonly FoundRepository[] {
    const { found, problem } = this.survey(root);
    if (problem !== undefined) throw problem;
    return found;
  }

  /** Does the same as `find`. If there is a problem, it still returns the repositories that it found. */
  survey(root: string): FoundRepositories {
    const read = new Map<string, ReadFolder>();
    const found: FoundRepository[] = [];
    const folders = [root];
    // Submodules are searched first. Git reads them from the repository above, so a large number of
    // folders must not hide one.
    const submodules: string[] = [];
    let problem: SandboxError | undefined;
    for (let at = 0; at < folders.length || submodules.length > 0; ) {
      const path = submodules.pop() ?? folders[at++] ?? root;
      if (read.has(path)) continue;
      const folder = this.#read(path, (error) => (problem ??= error));
      if (folder === undefined) continue;
      read.set(path, folder);
      const { isBare, hasGit, oddNames } = folder;
      if (path !== root && (isBare || hasGit)) found.push({ folder: path, isBare, hasGit });
      if (found.length > maxRepositories) problem ??= tooManyRepositories(root);
      if (found.length > maxFound) break;
      if (hasGit) submodules.push(...this.#submodulesOf(path).filter((one) => !read.has(one)));
      const inner = isObjectStore(path, read.get(dirname(path)))
        ? folder.inner.filter((name) => !storeFolder.test(name))
        : folder.inner;
      if (oddNames.some((name) => hasRepository(name, this.#maxFolders)))
        problem ??= undecodableFolder(path);
      if (folders.length + inner.length > this.#maxFolders)
        problem ??= tooManyFolders(root, this.#maxFolders);
      else for (const name of inner) folders.push(join(path, name));
    }
    this.#known = read;
    return { found, problem };
  }

  /** Returns the index of a repository. `git` is the git folder of that repository. */
  readIndex(git: string): ReadIndex {
    return this.#indexes.read(git);
  }

  #read(path: string, report: (error: SandboxError) => void): ReadFolder | undefined {
    try {
      return readFolder(path, this.#known.get(path), this.#settledAfterMs);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      report(error);
      return unlistedFolder(path);
    }
  }

  /**
   * Returns the folders of the submodules of a worktree. Links are left out, because git does not follow
   * them.
   */
  #submodulesOf(worktree: string): readonly string[] {
    const git = gitFolderOf(worktree);
    const names = git === undefined ? [] : (this.readIndex(git).submodules ?? []);
    return names
      .map((name) => join(worktree, name))
      .filter((folder) => folder.startsWith(worktree + sep) && realPath(folder) === folder);
  }
}

/**
 * Matches the folders in `objects` of a repository. There are many, and git puts no repositories there.
 */
const storeFolder = /^(?:[0-9a-f]{2}|info|pack)$/;

function isObjectStore(path: string, parent: ReadFolder | undefined): boolean {
  return parent?.isBare === true && basename(path) === 'objects';
}

const choose = 'Work in a folder below it, or switch the sandbox off';

/** Returns the error for a workspace with more repositories than can be guarded. */
export function tooManyRepositories(root: string): SandboxError {
  const message = `Cannot protect the repositories in ${root}: there are more than ${maxRepositories}. ${choose}. A command may have created folders with the name .git: remove them`;
  return new SandboxError('cannot_confine', message, { path: root });
}

function tooManyFolders(root: string, maxFolders: number): SandboxError {
  const message = `Cannot find all repositories in ${root} to protect them: it has more than ${maxFolders} folders. ${choose}`;
  return new SandboxError('cannot_confine', message, { path: root });
}

/** The facts about one folder that a search needs. */
interface ReadFolder {
  readonly inode: bigint;
  readonly changedNs: bigint;
  /** Whether a later change of the folder is certain to change its ctime. */
  readonly isSettled: boolean;
  readonly isBare: boolean;
  readonly hasGit: boolean;
  /** The names of the inner folders that are searched too. */
  readonly inner: readonly string[];
  /** The paths of the inner folders whose names are not valid text. */
  readonly oddNames: readonly Buffer[];
}

/**
 * Reads a folder, or returns the known facts if the folder has not changed. It compares the ctime,
 * because no command can choose that time. Returns undefined if the folder no longer exists, or if
 * another user does not let this user read it.
 */
function readFolder(
  path: string,
  known: ReadFolder | undefined,
  settledAfterMs: number,
): ReadFolder | undefined {
  try {
    const now = Date.now();
    const { ino: inode, ctimeNs: changedNs } = lstatSync(path, { bigint: true });
    if (known?.isSettled && known.inode === inode && known.changedNs === changedNs) return known;
    const entries = readdirSync(path, { withFileTypes: true });
    const names = new Set(entries.map(({ name }) => name));
    const inner = entries
      .filter(({ name }) => name !== '.git' && name !== 'node_modules')
      .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    return {
      inode,
      changedNs,
      isSettled: BigInt(now - settledAfterMs) * 1_000_000n > changedNs,
      isBare: looksBare(names),
      hasGit: names.has('.git'),
      inner,
      oddNames: inner.some((name) => name.includes('\uFFFD')) ? oddNamesIn(path) : [],
    };
  } catch (error) {
    if (isOutOfReach(path, error)) return undefined;
    throw unreadableFolder(path, error);
  }
}

/**
 * Returns the facts about a folder that cannot be listed. Git can still enter it, if its permissions
 * allow that.
 */
function unlistedFolder(path: string): ReadFolder {
  const names = new Set(
    ['.git', 'commondir', ...bareNames].filter((name) => isThere(join(path, name))),
  );
  return {
    ...{ inode: 0n, changedNs: 0n, isSettled: false, inner: [], oddNames: [] },
    ...{ isBare: looksBare(names), hasGit: names.has('.git') },
  };
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Returns the paths of the inner folders whose names are not valid text. A string cannot hold such a
 * path.
 */
function oddNamesIn(path: string): readonly Buffer[] {
  return readdirSync(path, { withFileTypes: true, encoding: 'buffer' })
    .filter((entry) => entry.isDirectory() && !isUtf8(entry.name))
    .map(({ name }) => Buffer.concat([Buffer.from(path + sep), name]));
}

/** True if a folder has a repository in it, has too many folders, or cannot be read. */
function hasRepository(top: Buffer, maxFolders: number): boolean {
  const folders = [top];
  try {
    for (const path of folders) {
      const entries = readdirSync(path, { withFileTypes: true, encoding: 'buffer' });
      const names = new Set(entries.map(({ name }) => name.toString('latin1')));
      if (names.has('.git') || looksBare(names)) return true;
      for (const entry of entries)
        if (entry.isDirectory()) folders.push(Buffer.concat([path, Buffer.from(sep), entry.name]));
      if (folders.length > maxFolders) return true;
    }
    return false;
  } catch {
    return true;
  }
}

function undecodableFolder(path: string): SandboxError {
  const message = `Cannot protect a repository in ${path}: the name of its folder is no text. Rename the folder, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path });
}

function unreadableFolder(path: string, cause: unknown): SandboxError {
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
  const message = `Cannot search ${path} for repositories to protect: ${code}. Run chmod u+rwx on it, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path }, { cause });
}

/**
 * True if a folder cannot be used by this user. The owner of a folder can enter one that cannot be
 * listed, or change its permissions.
 */
function isOutOfReach(path: string, error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['ENOENT', 'ENOTDIR'].includes(code)) return true;
  if (code !== 'EACCES') return false;
  try {
    return lstatSync(path).uid !== process.getuid?.();
  } catch {
    // A folder above cannot be entered. If that folder belongs to this user, the search has already
    // refused it.
    return true;
  }
}
