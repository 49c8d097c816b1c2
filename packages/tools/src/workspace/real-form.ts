import { lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

// Search workers import this file, so it must not import the agent package.

/** A path after all its links were followed. */
export interface FollowedPath {
  /** The links on the path, including those in the targets of links. */
  readonly links: readonly string[];
  /** The real path. Segments that do not exist are kept. */
  readonly real: string;
}

/** A path after all its links were followed, and what is there. */
interface ReachedPath extends FollowedPath {
  /** The entry at the real path. Undefined if it does not exist or cannot be read. */
  readonly entry: Stats | undefined;
}

/** Follows absolute paths. See `pathFollower`. */
export type PathFollower = (path: string) => ReachedPath;

/** Maximum number of links in a chain of links. The kernel has the same limit. */
export const maxLinks = 40;

/**
 * Returns the forms in which a configured path can appear: the absolute path as the user wrote it, and its real
 * path. Calls of tools have real paths, because the root of a workspace is a real path. A configured path must
 * therefore never be compared in its first form alone. It can contain links, for example a linked home folder
 * or a linked `~/.config`.
 *
 * @example pathForms('/tmp/notes'); // on macOS: ['/tmp/notes', '/private/tmp/notes']
 */
export function pathForms(path: string, follow: PathFollower = pathFollower()): readonly string[] {
  return [...new Set([resolve(path), follow(path).real])];
}

/**
 * Returns the forms of several paths, as `pathForms` does. It examines each folder only once.
 *
 * @example formsOfPaths(['/tmp/hook.sh']); // on macOS: ['/tmp/hook.sh', '/private/tmp/hook.sh']
 */
export function formsOfPaths(paths: readonly string[]): readonly string[] {
  const follow = pathFollower();
  return [...new Set(paths.flatMap((path) => pathForms(path, follow)))];
}

/**
 * Returns a function that follows absolute paths in the same way as the kernel: `..` leads to the parent of the
 * folder that was reached. The function remembers the folders, so use it for one list of paths and not longer.
 */
export function pathFollower(): PathFollower {
  const known = new Map<string, ReachedPath>();
  const follow = (path: string): ReachedPath => {
    const found = known.get(path);
    if (found !== undefined) return found;
    const parent = dirname(path);
    const followed =
      parent === path
        ? { links: [], real: path, entry: entryOf(path) }
        : entered(follow(parent), basename(path));
    known.set(path, followed);
    return followed;
  };
  return (path) => follow(path.startsWith('/') ? path : resolve(path));
}

function entered(folder: ReachedPath, name: string): ReachedPath {
  const { links, real } = folder;
  if (name === '..') return { links, real: dirname(real), entry: entryOf(dirname(real)) };
  if (name === '.') return folder;
  const next = real === sep ? real + name : `${real}${sep}${name}`;
  const entry = folder.entry && entryOf(next);
  if (entry === undefined) return { links, real: next, entry };
  if (!entry.isSymbolicLink() || links.length >= maxLinks)
    return { links, real: asStored(next), entry };
  const target = followLinks(real, [readlinkSync(next)]);
  const all = [...links, next, ...target.links];
  return { links: all, real: asStored(target.real), entry: entryOf(target.real) };
}

/** Systems whose file systems usually ignore the letter case of names. */
const ignoresCase = process.platform === 'darwin' || process.platform === 'win32';

/** Returns a path with the letter case and the characters that the file system stores. */
function asStored(path: string): string {
  if (!ignoresCase) return path;
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/**
 * Follows a path from a real folder in the same way as the kernel. Returns the links on the path, and the
 * real path. A missing segment counts as a normal name.
 */
export function followLinks(folder: string, path: readonly string[]): FollowedPath {
  const links: string[] = [];
  const rest = path.flatMap((part) => part.split(sep));
  let at = path[0]?.startsWith(sep) ? sep : folder;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name);
    // `join` has already resolved `..`, `.` and empty names, so only other names can be links.
    const isLink = !['', '.', '..'].includes(name) && entryOf(next)?.isSymbolicLink() === true;
    if (!isLink || links.length >= maxLinks) {
      at = next;
      continue;
    }
    links.push(next);
    const target = readlinkSync(next);
    rest.unshift(...target.split(sep));
    if (target.startsWith(sep)) at = sep;
  }
  return { links, real: at };
}

/** Returns the entry of a path without following a link. Undefined if it does not exist or cannot be read. */
export function entryOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The time after which links are followed again, in milliseconds. The user can change a link. */
const maxAgeMs = 1000;

/** Returns a function that computes a value again if the last result is more than one second old. */
export function recent<Value>(compute: () => Value): () => Value {
  let last: { readonly value: Value; readonly at: number } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at >= maxAgeMs) last = { value: compute(), at: now };
    return last.value;
  };
}
