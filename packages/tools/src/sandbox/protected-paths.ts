import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import type { RepositorySearch } from '../git/repository-search.ts';
import { entryOf, gitPlaces } from './git-places.ts';

/** What a confined command must not do with a path. `pinned`: it must not move or remove it. */
export interface GuardedPath {
  readonly path: string;
  readonly guard: 'hidden' | 'read-only' | 'pinned';
  readonly isFolder: boolean;
}

/** A name that a mount cannot guard, because nothing or a symbolic link is there. */
export interface WatchedName {
  readonly path: string;
  /** The target of the link, or undefined if nothing may be there. */
  readonly link: string | undefined;
}

/**
 * A place that a mount guards only as long as no program outside of the sandbox replaces it. The
 * kernel then removes the mount: git writes its settings to a new file and renames that.
 */
export interface KeptPlace {
  readonly path: string;
  readonly guard: 'read-only' | 'pinned';
  /** The file as it was before a command ran. Undefined for a folder and for a large file. */
  readonly file: KeptFile | undefined;
}

export interface KeptFile {
  readonly content: Buffer;
  readonly mode: number;
}

/** How the places of one workspace are guarded. */
export interface GuardPlan {
  /** Parents come before their children. */
  readonly guarded: readonly GuardedPath[];
  readonly watched: readonly WatchedName[];
  readonly kept: readonly KeptPlace[];
}

interface PlanOptions {
  readonly root: string;
  /** Whether the command can change the workspace. */
  readonly canChange: boolean;
  readonly repositories: RepositorySearch;
  /** Real paths that commands can change, the workspace included. */
  readonly writable: readonly string[];
  readonly keys: readonly string[];
  readonly startUp: readonly string[];
  /** As `SandboxOptions.hide`. */
  readonly hide: readonly string[];
  /** As `SandboxOptions.protect`: no watch if they do not exist. */
  readonly protect: readonly string[];
}

/**
 * Finds out how each place has to be guarded now. Nothing may run in the workspace meanwhile,
 * because a process there could replace a path between the check and the mount.
 */
export function planGuards(options: PlanOptions): GuardPlan {
  const { root, canChange, repositories, writable, keys, startUp, hide, protect } = options;
  const planner = new Planner(writable);
  const ofGit = canChange ? gitPlaces(root, repositories) : [];
  for (const path of ofGit) planner.guard(path, 'read-only', true);
  for (const path of startUp) planner.guard(path, 'read-only', true);
  for (const path of protect) planner.guard(resolve(root, path), 'read-only', false);
  for (const path of keys) planner.guard(path, 'hidden', true);
  for (const path of hide) planner.guard(path, 'hidden', true);
  return planner.plan();
}

/** A link can lead to another link. The kernel gives up after 40. */
const maxLinks = 40;

class Planner {
  readonly #writable: readonly string[];
  readonly #guarded = new Map<string, GuardedPath>();
  readonly #watched = new Map<string, WatchedName>();
  /** Places that must not change in any way while a command runs. */
  readonly #kept = new Set<string>();

  constructor(writable: readonly string[]) {
    this.#writable = writable;
  }

  /** Guards a path. `isWatched`: nothing may be created there if it does not exist. */
  guard(path: string, guard: 'hidden' | 'read-only', isWatched: boolean, links = 0): void {
    const base = this.#writable.find((folder) => isBelow(folder, path));
    if (base === undefined)
      return guard === 'hidden' ? this.#hideElsewhere(path, links) : undefined;
    const names = relative(base, path).split(sep);
    for (const [index, name] of names.entries()) {
      const at = join(base, ...names.slice(0, index), name);
      const entry = entryOf(at);
      if (entry === undefined) {
        if (isWatched) this.#watched.set(at, { path: at, link: undefined });
        return;
      }
      if (entry.isSymbolicLink()) {
        const link = readlinkSync(at);
        this.#watched.set(at, { path: at, link });
        const target = resolve(dirname(at), link, ...names.slice(index + 1));
        if (links < maxLinks) this.guard(realPathOf(target), guard, isWatched, links + 1);
        return;
      }
      const isLast = index === names.length - 1;
      // Nothing can be created below a file as long as the file stays.
      this.#add(at, isLast || !entry.isDirectory() ? guard : 'pinned', entry.isDirectory());
      if (isWatched) this.#kept.add(at);
      if (!entry.isDirectory()) return;
    }
  }

  /** Outside of the writable folders nothing can be created or replaced. */
  #hideElsewhere(path: string, links: number): void {
    const entry = entryOf(path);
    if (entry === undefined) return;
    const real = realPathOf(path);
    if (real === path) return this.#add(path, 'hidden', entry.isDirectory());
    if (links < maxLinks && entryOf(real) !== undefined)
      this.guard(real, 'hidden', false, links + 1);
  }

  #add(path: string, guard: GuardedPath['guard'], isFolder: boolean): void {
    const known = this.#guarded.get(path);
    if (known === undefined || strength[known.guard] < strength[guard])
      this.#guarded.set(path, { path, guard, isFolder });
    if (guard === 'read-only') checkHardLinks(path, isFolder);
  }

  plan(): GuardPlan {
    const all = [...this.#guarded.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const isCovered = (path: string, by: GuardedPath['guard']) =>
      all.some(
        (other) => other.guard === by && isBelow(other.path, path) && !this.#isShown(path, other),
      );
    // What is below a hidden folder does not exist for the command. What is below a read-only
    // folder needs no guard, and a mount for a pinned path would make it writable again.
    const isVisible = ({ path, guard }: { readonly path: string; readonly guard?: string }) =>
      !isCovered(path, 'hidden') && (guard === 'hidden' || !isCovered(path, 'read-only'));
    const watched = [...this.#watched.values()].filter(isVisible);
    const guarded = all.filter(isVisible);
    const kept = guarded.flatMap(({ path, guard, isFolder }) => {
      // Other programs replace files with keys all the time, and what they hold cannot be guessed.
      if (guard === 'hidden' || !this.#kept.has(path)) return [];
      return [{ path, guard, file: isFolder ? undefined : keptFile(path) }];
    });
    return { guarded, watched, kept };
  }

  /**
   * Tells whether a path is visible although a folder above it is hidden: a writable folder between
   * them is mounted again. A project can hide the folder above the workspace without being trusted.
   */
  #isShown(path: string, { path: above, guard }: GuardedPath): boolean {
    const isBetween = (folder: string) =>
      (folder === above || isBelow(above, folder)) && isBelow(folder, path);
    return guard === 'hidden' && this.#writable.some(isBetween);
  }
}

const strength = { pinned: 0, 'read-only': 1, hidden: 2 } as const;

/** Maximum number of files in a guarded folder that are checked for hard links. */
const maxChecked = 1000;

/** A file with a second name in the workspace could be changed through that name. */
function checkHardLinks(path: string, isFolder: boolean): void {
  const paths = isFolder
    ? readdirSync(path)
        .slice(0, maxChecked)
        .map((name) => join(path, name))
    : [path];
  const shared = paths.find((file) => {
    const entry = entryOf(file);
    return entry?.isFile() === true && entry.nlink > 1;
  });
  if (shared === undefined) return;
  const why = 'it has several hard links, so a command could change it under another name';
  const advice = 'Replace it by a copy of itself, or switch the sandbox off';
  throw new SandboxError('cannot_confine', `Cannot protect ${shared}: ${why}. ${advice}`, {
    path: shared,
  });
}

/** Maximum size of a file that is kept to restore it. */
const maxKeptBytes = 1_048_576;

function keptFile(path: string): KeptFile | undefined {
  const entry = entryOf(path);
  if (entry?.isFile() !== true || entry.size > maxKeptBytes) return undefined;
  try {
    return { content: readFileSync(path), mode: entry.mode & 0o777 };
  } catch {
    return undefined;
  }
}

/** Tells whether a path is below a folder. The folder itself is not. */
export function isBelow(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** Resolves the links of the existing part of a path. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), path.slice(parent.length));
  }
}
