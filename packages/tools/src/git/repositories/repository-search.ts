import { basename, dirname, join, sep } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { runAtOnce, runInSlices } from '../../slices.ts';
import { IndexReader, type ReadIndex } from '../index-reader.ts';
import { hasRepository } from './has-repository.ts';
import {
  bytePath,
  packagesName,
  type ReadFile,
  type ReadFolder,
  readFolder,
  unlistedFolder,
} from './read-folder.ts';
import { gitFolderOf, realPath } from './submodules.ts';

/**
 * A folder of the workspace that is a repository. It can be a bare repository and contain a `.git` at the
 * same time.
 */
export interface FoundRepository {
  readonly folder: string;
  /** True if the folder looks like a bare repository, that is, a repository without a worktree. */
  readonly isBare: boolean;
  /** True if the folder has an entry `.git`. */
  readonly hasGit: boolean;
}

/** Maximum number of repositories that the sandbox can guard. */
export const maxRepositories = 200;

/** Options of `RepositorySearch`. */
interface SearchOptions {
  /**
   * If a folder changed less than this time before it was read, the next search reads it again, even if its
   * timestamp is the same. File systems store times with limited precision, so a later change can have the
   * same timestamp. Default: 3 s, because some file systems have a precision of two seconds.
   */
  readonly settledAfterMs?: number | undefined;
  /** Maximum number of folders to search. Default: 50,000. */
  readonly maxFolders?: number | undefined;
  /** If true, the search includes `node_modules` folders. They are large. Default: false. */
  readonly searchesPackages?: boolean | undefined;
  /** If true, the search includes the `.git` folders, and finds the repositories in them. Default: false. */
  readonly searchesGit?: boolean | undefined;
  /**
   * If true, the search skips the folders in `objects` of a bare repository. Git creates no repositories
   * there, but a command can. Default: false.
   */
  readonly skipsObjects?: boolean | undefined;
  /** If true, the search also returns the files of the folders. Default: false. */
  readonly readsFiles?: boolean | undefined;
  /** Maximum number of files to return, without the files of objects. Default: 100,000. */
  readonly maxFiles?: number | undefined;
}

/** A file or a link in a folder. */
export interface FoundFile extends ReadFile {
  readonly folder: string;
}

/** An entry whose name is not valid UTF-8. */
export interface FoundOdd {
  readonly folder: string;
  readonly name: Buffer;
}

/** The result of a search. */
export interface FoundRepositories {
  /** The repositories. Submodules come first, then repositories near the root. */
  readonly found: readonly FoundRepository[];
  /** The `node_modules` folders that were not searched. */
  readonly packages: readonly string[];
  /** Folders of this user that cannot be listed. */
  readonly unlisted: readonly string[];
  /** The files and links of all folders, if the search reads them. */
  readonly files: readonly FoundFile[];
  /** The entries whose names are not valid UTF-8, and which contain a repository or cannot be searched. */
  readonly odd: readonly FoundOdd[];
  /** True if the search stopped because it found too many repositories. The others are unknown. */
  readonly isCut: boolean;
  /** The reason why the search may have missed repositories. Undefined if it found all. */
  readonly problem?: SandboxError | undefined;
}

/** Maximum number of repositories that a search finds. Then the search stops. */
const maxFound = 10 * maxRepositories;

/**
 * Finds repositories in the folders below a root. It remembers the folders that it has read, and the next
 * search reads only folders that have changed.
 */
export class RepositorySearch {
  /** The folders that the last search has read, by path. */
  #known: ReadonlyMap<string, ReadFolder> = new Map();
  readonly #settledAfterMs: number;
  readonly #maxFolders: number;
  readonly #searchesPackages: boolean;
  readonly #searchesGit: boolean;
  readonly #skipsObjects: boolean;
  readonly #readsFiles: boolean;
  readonly #maxFiles: number;
  readonly #indexes = new IndexReader();

  constructor(options: SearchOptions = {}) {
    this.#settledAfterMs = options.settledAfterMs ?? 3000;
    this.#maxFolders = options.maxFolders ?? 50_000;
    this.#searchesPackages = options.searchesPackages ?? false;
    this.#searchesGit = options.searchesGit ?? false;
    this.#skipsObjects = options.skipsObjects ?? false;
    this.#readsFiles = options.readsFiles ?? false;
    this.#maxFiles = options.maxFiles ?? 100_000;
  }

  /**
   * Returns all repositories, except repositories in `node_modules` that are not submodules. Throws a
   * `SandboxError` if there are too many folders or repositories, or if a folder cannot be read. Otherwise a
   * command could hide a repository from the search.
   */
  find(root: string): readonly FoundRepository[] {
    const { found, problem } = this.survey(root);
    if (problem !== undefined) throw problem;
    return found;
  }

  /**
   * Like `find`, but it does not throw, and it can search only some folders of the root. If there is a problem, it
   * still returns the repositories that it found.
   */
  survey(root: string, folders: readonly string[] = [root]): FoundRepositories {
    return runAtOnce(this.#search(root, folders));
  }

  /**
   * Like `survey`, but only for these folders of the root. It lets other work of the process run between its
   * slices.
   */
  async surveyInSlices(root: string, folders: readonly string[]): Promise<FoundRepositories> {
    return runInSlices(this.#search(root, folders));
  }

  /** Searches the folders and yields after each folder. The caller can pause the search there. */
  *#search(root: string, starts: readonly string[]): Generator<undefined, FoundRepositories> {
    this.startCheck();
    const read = new Map<string, ReadFolder>();
    const found: FoundRepository[] = [];
    const packages: string[] = [];
    const unlisted: string[] = [];
    const files: FoundFile[] = [];
    const odd: FoundOdd[] = [];
    const folders = [...starts];
    // Submodules are searched first. Git reads them through the outer repository, so a large number of
    // folders must not hide a submodule.
    const submodules: string[] = [];
    let problem: SandboxError | undefined;
    for (let at = 0; at < folders.length || submodules.length > 0; ) {
      const path = submodules.pop() ?? folders[at++] ?? root;
      if (read.has(path)) continue;
      const folder = this.#read(path, (error) => {
        problem ??= error;
        unlisted.push(path);
      });
      if (folder === undefined) continue;
      yield;
      read.set(path, folder);
      const { isBare, hasGit, oddNames } = folder;
      for (const file of folder.files ?? []) files.push({ folder: path, ...file });
      if (files.length > this.#maxFiles) problem ??= tooManyFiles(root, this.#maxFiles);
      if (path !== root && (isBare || hasGit)) found.push({ folder: path, isBare, hasGit });
      // The sandbox needs no guards for the repositories in a git folder.
      const most = this.#readsFiles ? maxFound : maxRepositories;
      if (found.length > most) problem ??= tooManyRepositories(root);
      if (found.length > maxFound) break;
      if (hasGit) submodules.push(...this.#submodulesOf(path).filter((one) => !read.has(one)));
      const inner = this.#innerOf(folder, isObjectStore(path, read.get(dirname(path))));
      for (const { name, isFolder } of oddNames) {
        const at = bytePath(path, name);
        if (isFolder && !hasRepository(at, this.#maxFolders, this.#readsFiles)) continue;
        odd.push({ folder: path, name });
        problem ??= undecodableFolder(path);
      }
      if (folders.length + inner.length > this.#maxFolders)
        problem ??= tooManyFolders(root, this.#maxFolders);
      // String concatenation is faster than `join`, which matters in a search of many folders.
      else for (const name of inner) folders.push(`${path}${sep}${name}`);
      if (folder.hasPackages && !this.#searchesPackages) packages.push(join(path, packagesName));
    }
    this.#known = read;
    return { found, packages, unlisted, files, odd, isCut: found.length > maxFound, problem };
  }

  /** Starts a check of indexes. See `IndexReader.startCheck`. */
  startCheck(): void {
    this.#indexes.startCheck();
  }

  /** Makes the search compare the content of all indexes again. See `IndexReader.forget`. */
  forgetIndexes(): void {
    this.#indexes.forget();
  }

  /** Returns the index of a repository. `git` is the git folder of that repository. */
  readIndex(git: string): ReadIndex {
    return this.#indexes.read(git);
  }

  #innerOf(folder: ReadFolder, isStore: boolean): readonly string[] {
    const { inner, gitFolders, hasPackages } = folder;
    const names = isStore && this.#skipsObjects ? inner.filter(isOther) : inner;
    const all = this.#searchesGit ? [...names, ...gitFolders] : names;
    return hasPackages && this.#searchesPackages ? [...all, packagesName] : all;
  }

  #read(path: string, report: (error: SandboxError) => void): ReadFolder | undefined {
    try {
      return readFolder(path, this.#known.get(path), this.#settledAfterMs, {
        readsFiles: this.#readsFiles,
      });
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      report(error);
      return unlistedFolder(path);
    }
  }

  /**
   * Returns the folders of the submodules of a worktree. It omits links, because git does not follow them.
   */
  #submodulesOf(worktree: string): readonly string[] {
    const git = gitFolderOf(worktree);
    const names = git === undefined ? [] : (this.readIndex(git).submodules ?? []);
    return names
      .map((name) => join(worktree, name))
      .filter((folder) => folder.startsWith(worktree + sep) && realPath(folder) === folder);
  }
}

/** True if git did not create this folder in `objects`. Git creates many folders there, with known names. */
const isOther = (name: string) => !/^(?:[0-9a-f]{2}|info|pack)$/.test(name);

function isObjectStore(path: string, parent: ReadFolder | undefined): boolean {
  return parent?.isBare === true && basename(path) === 'objects';
}

const choose = 'Work in a folder below it, or switch the sandbox off';

/** Returns the error for a workspace with more repositories than the sandbox can guard. */
export function tooManyRepositories(root: string): SandboxError {
  const message = `Cannot protect the repositories in ${root}: there are more than ${maxRepositories}. ${choose}. A command may have created folders with the name .git: remove them`;
  return new SandboxError('cannot_confine', message, { path: root });
}

/** Returns the error for a workspace in which repositories appear as fast as the sandbox renames them. */
export function moreRepositories(root: string): SandboxError {
  const message = `Cannot rename all new repositories in ${root}: each search found more. Another program may create them. ${choose}`;
  return new SandboxError('cannot_confine', message, { path: root });
}

function tooManyFolders(root: string, maxFolders: number): SandboxError {
  const message = `Cannot find all repositories in ${root} to protect them: it has more than ${maxFolders} folders. ${choose}`;
  return new SandboxError('cannot_confine', message, { path: root });
}

function tooManyFiles(root: string, maxFiles: number): SandboxError {
  const message = `Cannot check the git folders in ${root}: they have more than ${maxFiles} files. Run git pack-refs --all`;
  return new SandboxError('cannot_confine', message, { path: root });
}

function undecodableFolder(path: string): SandboxError {
  const message = `Cannot protect a repository in ${path}: the name of its folder is no text. Rename the folder, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path });
}
