import { isUtf8 } from 'node:buffer';
import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { gitFolderOf, IndexReader, type ReadIndex, realPath } from './submodules.ts';

/** A repository in a folder of the workspace. It can be of both kinds. */
export interface FoundRepository {
  readonly folder: string;
  /** Whether the folder itself looks like a repository, without files of a worktree. */
  readonly isBare: boolean;
  /** Whether it has a `.git`. */
  readonly hasGit: boolean;
}

/**
 * A folder with entries of these names counts as a bare repository, whatever they contain. A command
 * could empty a file, and then nothing would guard the repository.
 */
export const bareNames = ['HEAD', 'objects', 'refs'] as const;

/** With a `commondir`, git takes the objects and the settings from the folder that it names. */
function looksBare(names: ReadonlySet<string>): boolean {
  return (
    bareNames.every((name) => names.has(name)) || (names.has('HEAD') && names.has('commondir'))
  );
}

/** Maximum number of repositories of which places are guarded. */
export const maxRepositories = 200;

/** Options of `RepositorySearch`. */
interface SearchOptions {
  /**
   * A folder that changed less than this time before it was read is read again, because file
   * systems store times with a limited precision. Default: 3 s, because some store only every two
   * seconds.
   */
  readonly settledAfterMs?: number | undefined;
  /** Maximum number of folders to search. Default: 50,000. */
  readonly maxFolders?: number | undefined;
}

/** The result of a search. */
export interface FoundRepositories {
  /** Those near the root first, after submodules. */
  readonly found: readonly FoundRepository[];
  /** Why there may be others. */
  readonly problem?: SandboxError | undefined;
}

/** A search that has found too many repositories ends after this number. */
const maxFound = 10 * maxRepositories;

/**
 * Finds repositories in folders below a root. A search keeps what it has read: the next one reads
 * only folders that have changed since then.
 */
export class RepositorySearch {
  /** What the last search read, by path. */
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
   * submodules in them are. Throws a `SandboxError` if there are too many folders or repositories, or
   * if a folder cannot be read: a command could otherwise hide a repository behind others.
   */
  find(root: string): readonly FoundRepository[] {
    const { found, problem } = this.survey(root);
    if (problem !== undefined) throw problem;
    return found;
  }

  /** As `find`, but returns what it could find if there is a problem. */
  survey(root: string): FoundRepositories {
    const read = new Map<string, ReadFolder>();
    const found: FoundRepository[] = [];
    const folders = [root];
    // Submodules come first. Git looks into them from above, so no number of folders may hide one.
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

  /** Returns the index of a repository. `git` is its own folder. */
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

  /** The folders of the submodules of a worktree. Git does not follow links to them. */
  #submodulesOf(worktree: string): readonly string[] {
    const git = gitFolderOf(worktree);
    const names = git === undefined ? [] : (this.readIndex(git).submodules ?? []);
    return names
      .map((name) => join(worktree, name))
      .filter((folder) => folder.startsWith(worktree + sep) && realPath(folder) === folder);
  }
}

/** The folders in `objects` of a repository. There are many, and git puts no repositories there. */
const storeFolder = /^(?:[0-9a-f]{2}|info|pack)$/;

function isObjectStore(path: string, parent: ReadFolder | undefined): boolean {
  return parent?.isBare === true && basename(path) === 'objects';
}

const choose = 'Work in a folder below it, or switch the sandbox off';

/** The error for a workspace with more repositories than can be guarded. */
export function tooManyRepositories(root: string): SandboxError {
  const message = `Cannot protect the repositories in ${root}: there are more than ${maxRepositories}. ${choose}. A command may have created folders with the name .git: remove them`;
  return new SandboxError('cannot_confine', message, { path: root });
}

function tooManyFolders(root: string, maxFolders: number): SandboxError {
  const message = `Cannot find all repositories in ${root} to protect them: it has more than ${maxFolders} folders. ${choose}`;
  return new SandboxError('cannot_confine', message, { path: root });
}

/** What a search needs to know of one folder. */
interface ReadFolder {
  readonly inode: bigint;
  readonly changedNs: bigint;
  /** Whether a later change of the folder certainly gives it another time of change. */
  readonly isSettled: boolean;
  readonly isBare: boolean;
  readonly hasGit: boolean;
  /** The names of folders in it that are searched too. */
  readonly inner: readonly string[];
  /** The paths of folders whose names are no text. */
  readonly oddNames: readonly Buffer[];
}

/**
 * Reads a folder, or returns what is known of it if it has not changed. No command can choose the
 * time of change (ctime) that is compared. Returns undefined if the folder is gone, or if another
 * user does not let this user read it.
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

/** A folder that cannot be listed. Git enters it nevertheless, if its permissions allow that. */
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

/** Returns the paths of the folders in a folder whose names are no text. No string leads to them. */
function oddNamesIn(path: string): readonly Buffer[] {
  return readdirSync(path, { withFileTypes: true, encoding: 'buffer' })
    .filter((entry) => entry.isDirectory() && !isUtf8(entry.name))
    .map(({ name }) => Buffer.concat([Buffer.from(path + sep), name]));
}

/** Whether a folder has a repository in it. True if it has too many folders, or cannot be read. */
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

/** The owner of a folder can enter one that cannot be listed, or change its permissions. */
function isOutOfReach(path: string, error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['ENOENT', 'ENOTDIR'].includes(code)) return true;
  if (code !== 'EACCES') return false;
  try {
    return lstatSync(path).uid !== process.getuid?.();
  } catch {
    // A folder above cannot be entered. The search has refused it if it belongs to this user.
    return true;
  }
}
