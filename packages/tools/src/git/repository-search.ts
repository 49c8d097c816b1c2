import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A repository in a folder of the workspace. */
export interface FoundRepository {
  readonly folder: string;
  /** Whether the folder itself is the repository, without files of a worktree. */
  readonly isBare: boolean;
}

const maxDepth = 6;
const maxFolders = 2000;
/** Maximum number of repositories of which places are guarded. */
export const maxRepositories = 100;

/**
 * Finds repositories in folders below a root. A search keeps what it has read: the next one reads
 * only folders that have changed since then.
 */
export class RepositorySearch {
  /** What the last search read, by path. */
  #known: ReadonlyMap<string, ReadFolder> = new Map();
  readonly #settledAfterMs: number;

  /**
   * A folder that changed less than `settledAfterMs` before it was read is read again, because file
   * systems round times of change: the next change could have the same time. The coarsest round to
   * two seconds.
   */
  constructor(settledAfterMs = 3000) {
    this.#settledAfterMs = settledAfterMs;
  }

  /**
   * Returns the repositories, those near the root first. Folders of packages are not searched,
   * because they are large.
   */
  find(root: string): readonly FoundRepository[] {
    const read = new Map<string, ReadFolder>();
    const repositories: FoundRepository[] = [];
    const folders = [{ path: root, depth: 0 }];
    for (const { path, depth } of folders) {
      if (read.size >= maxFolders) break;
      const folder = readFolder(path, this.#known.get(path), this.#settledAfterMs);
      if (folder === undefined) continue;
      read.set(path, folder);
      const { isBare, hasGit, inner } = folder;
      if (path !== root && (isBare || hasGit)) repositories.push({ folder: path, isBare });
      if (repositories.length >= maxRepositories) break;
      if (isBare || depth >= maxDepth || folders.length > maxFolders) continue;
      for (const name of inner.slice(0, maxFolders))
        folders.push({ path: join(path, name), depth: depth + 1 });
    }
    this.#known = read;
    return repositories;
  }
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
 * time of change (ctime) that is compared. Returns undefined if the folder cannot be read.
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
      isBare: ['HEAD', 'objects', 'refs'].every((name) => names.has(name)),
      hasGit: names.has('.git'),
      inner: entries
        .filter(({ name }) => name !== '.git' && name !== 'node_modules')
        .flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
    };
  } catch {
    return undefined;
  }
}
