import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';

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

/**
 * Finds repositories in folders below a root. A search keeps what it has read: the next one reads
 * only folders that have changed since then.
 */
export class RepositorySearch {
  /** What the last search read, by path. */
  #known: ReadonlyMap<string, ReadFolder> = new Map();
  readonly #settledAfterMs: number;
  readonly #maxFolders: number;

  constructor({ settledAfterMs = 3000, maxFolders = 50_000 }: SearchOptions = {}) {
    this.#settledAfterMs = settledAfterMs;
    this.#maxFolders = maxFolders;
  }

  /**
   * Returns all repositories, those near the root first. Folders of packages are not searched,
   * because they are large. Throws a `SandboxError` if there are too many folders or repositories, or
   * if a folder cannot be read: a command could otherwise hide a repository behind others.
   */
  find(root: string): readonly FoundRepository[] {
    const read = new Map<string, ReadFolder>();
    const repositories: FoundRepository[] = [];
    const folders = [root];
    for (const path of folders) {
      const folder = readFolder(path, this.#known.get(path), this.#settledAfterMs);
      if (folder === undefined) continue;
      read.set(path, folder);
      const { isBare, hasGit } = folder;
      if (path !== root && (isBare || hasGit)) repositories.push({ folder: path, isBare, hasGit });
      if (repositories.length > maxRepositories) throw tooManyRepositories(root);
      const inner = isObjectStore(path, read.get(dirname(path)))
        ? folder.inner.filter((name) => !storeFolder.test(name))
        : folder.inner;
      if (folders.length + inner.length > this.#maxFolders)
        throw tooManyFolders(root, this.#maxFolders);
      for (const name of inner) folders.push(join(path, name));
    }
    this.#known = read;
    return repositories;
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
    return {
      inode,
      changedNs,
      isSettled: BigInt(now - settledAfterMs) * 1_000_000n > changedNs,
      isBare: looksBare(names),
      hasGit: names.has('.git'),
      inner: entries
        .filter(({ name }) => name !== '.git' && name !== 'node_modules')
        .flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
    };
  } catch (error) {
    if (isOutOfReach(path, error)) return undefined;
    throw unreadableFolder(path, error);
  }
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
