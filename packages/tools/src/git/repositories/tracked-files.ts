import { dirname, join, relative, sep } from 'node:path';
import { checkedOutPaths } from '../git-index.ts';
import { isUsualPath } from '../index-form.ts';
import { stampOf, trackedPaths } from '../index-reader.ts';
import { gitFolderOf } from './submodules.ts';

/** If the index changed less than this time ago, it is read again, because its stamp may not show a later change. */
const settledAfterMs = 3000;

/** Reads which files git tracks in a folder. It reads the index again only after a change. */
export class TrackedFiles {
  #known: { readonly stamp: string; readonly paths: readonly string[] } | undefined;

  /**
   * Returns the tracked files below a folder, relative to it. Returns none if the folder is in no repository, or if
   * its index cannot be read.
   */
  below(root: string): readonly string[] {
    const worktree = worktreeOf(root);
    const git = worktree === undefined ? undefined : gitFolderOf(worktree);
    if (worktree === undefined || git === undefined) return [];
    const stamp = stampOf([join(git, 'index')]);
    if (this.#known?.stamp === stamp) return this.#known.paths;
    const prefix = root === worktree ? '' : `${relative(worktree, root).split(sep).join('/')}/`;
    const paths = (trackedPaths(git, checkedOutPaths) ?? [])
      .filter((path) => path.startsWith(prefix) && isUsualPath(path))
      .map((path) => path.slice(prefix.length));
    const isSettled = changedAt(stamp) < Date.now() - settledAfterMs;
    this.#known = isSettled ? { stamp, paths } : undefined;
    return paths;
  }
}

function worktreeOf(root: string): string | undefined {
  for (let at = root; ; at = dirname(at)) {
    if (stampOf([join(at, '.git')]) !== '') return at;
    if (dirname(at) === at) return undefined;
  }
}

/** Returns the time of the last change in a stamp, in milliseconds. */
function changedAt(stamp: string): number {
  return Number(stamp.split(':').at(-1)) / 1_000_000;
}
