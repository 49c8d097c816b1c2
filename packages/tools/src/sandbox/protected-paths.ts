import { readdirSync, readFileSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import type { FoundRepository, RepositorySearch } from '../git/repositories/repository-search.ts';
import { entryOf, type GitPlaces, gitPlaces, otherSettings } from './git-places.ts';

/**
 * A path, and what a confined command must not do with it. `pinned` means that the command must not move
 * or remove it.
 */
export interface GuardedPath {
  readonly path: string;
  readonly guard: 'hidden' | 'read-only' | 'pinned';
  readonly isFolder: boolean;
}

/** A name that a mount cannot guard, because the path does not exist or is a symbolic link. */
export interface WatchedName {
  readonly path: string;
  /** The target of the link. Undefined if the path must not exist. */
  readonly link: string | undefined;
}

/**
 * A place that a mount guards only until a program outside of the sandbox replaces it, because the kernel
 * then removes the mount. Git, for example, writes its settings to a new file and renames it.
 */
export interface KeptPlace {
  readonly path: string;
  readonly guard: 'read-only' | 'pinned';
  /** The content of the file before a command ran. Undefined for a folder and for a large file. */
  readonly file: KeptFile | undefined;
}

export interface KeptFile {
  readonly content: Buffer;
  readonly mode: number;
}

/** The plan that describes how the places of one workspace are guarded. */
export interface GuardPlan {
  /** The guarded paths. Parents come before their children. */
  readonly guarded: readonly GuardedPath[];
  readonly watched: readonly WatchedName[];
  readonly kept: readonly KeptPlace[];
  /**
   * The permissions of folders that contain such places, parents first. A command can change these
   * permissions, and this process could then not reach the places.
   */
  readonly modes: ReadonlyMap<string, number>;
  /** The repositories in folders of the workspace. */
  readonly repositories: readonly FoundRepository[];
}

/** Options of `planGuards`. */
export interface PlanOptions {
  readonly root: string;
  /** Whether the command can change the workspace. */
  readonly canChange: boolean;
  readonly repositories: RepositorySearch;
  /** The repositories in folders with packages. */
  readonly packages: readonly FoundRepository[];
  /** The real paths that commands can change, including the workspace. */
  readonly writable: readonly string[];
  readonly keys: readonly string[];
  readonly startUp: readonly string[];
  /** The same as `SandboxOptions.hide`. */
  readonly hide: readonly string[];
  /** The same as `SandboxOptions.protect`. */
  readonly protect: readonly string[];
  /** The same as `SandboxOptions.programs`. */
  readonly programs: readonly string[];
}

/**
 * Returns the plan for guarding all places in their current state. No command may run in the workspace at
 * the same time, because it could replace a path between the check and the mount.
 */
export function planGuards(options: PlanOptions): GuardPlan {
  const { root, canChange, repositories, packages, writable, keys, startUp, hide } = options;
  const planner = new Planner(writable);
  const ofGit = canChange ? gitPlaces(root, repositories, { creates: true, packages }) : noPlaces;
  const protect = [...(canChange ? otherSettings : []), ...options.protect].map((path) =>
    resolve(root, path),
  );
  for (const path of options.programs) planner.guard(path, 'program');
  for (const path of ofGit.pinned) planner.guard(path, 'pinned');
  for (const path of [...ofGit.guarded, ...startUp]) planner.guard(path, 'read-only');
  for (const path of protect) planner.guard(path, 'settings');
  for (const path of [...keys, ...hide]) planner.guard(path, 'hidden');
  return { ...planner.plan(), repositories: ofGit.below };
}

const noPlaces: GitPlaces = { guarded: [], pinned: [], below: [] };

/** Maximum number of links that are followed one after the other. The kernel has the same limit. */
const maxLinks = 40;

class Planner {
  readonly #writable: readonly string[];
  readonly #guarded = new Map<string, GuardedPath>();
  readonly #watched = new Map<string, WatchedName>();
  /**
   * The places that no program may replace while a command runs. With `read-only`, the earlier content is
   * restored. With `pinned`, the command is only stopped.
   */
  readonly #kept = new Map<string, KeptPlace['guard']>();
  readonly #modes = new Map<string, number>();

  constructor(writable: readonly string[]) {
    this.#writable = writable;
  }

  /** Guards a path. If the path does not exist, no command may create it. */
  guard(path: string, as: GuardReason, links = 0): void {
    const base = this.#writable.find((folder) => isBelow(folder, path));
    if (base === undefined) return as === 'hidden' ? this.#hideElsewhere(path, links) : undefined;
    const { guard, kept, checksLinks } = guards[as];
    this.#keepMode(base, entryOf(base));
    const names = relative(base, path).split(sep);
    for (const [index, name] of names.entries()) {
      const at = join(base, ...names.slice(0, index), name);
      const entry = entryOf(at);
      if (entry === undefined) {
        this.#watched.set(at, { path: at, link: undefined });
        return;
      }
      if (entry.isSymbolicLink()) {
        const link = readlinkSync(at);
        this.#watched.set(at, { path: at, link });
        const target = followLinks(dirname(at), [link, ...names.slice(index + 1)]);
        for (const other of target.links) this.#watchLink(other);
        if (links < maxLinks) this.guard(target.real, as, links + 1);
        return;
      }
      const isLast = index === names.length - 1;
      // No path can be created below a file while the file stays.
      const isGuarded = isLast || !entry.isDirectory();
      this.#add(at, isGuarded ? guard : 'pinned', entry.isDirectory());
      if (isGuarded && checksLinks) checkHardLinks(at, entry.isDirectory());
      this.#keep(at, isGuarded ? kept : kept && 'pinned');
      if (!entry.isDirectory()) return;
      if (!isLast) this.#keepMode(at, entry);
    }
  }

  /**
   * Stores the permissions of a folder. Throws if this user cannot enter the folder. The folder would
   * seem to be empty, but a command can make it accessible again.
   */
  #keepMode(folder: string, entry: Stats | undefined): void {
    if (entry === undefined) return;
    this.#modes.set(folder, entry.mode & 0o7777);
    const user = process.getuid?.();
    if (user === 0 || user !== entry.uid || (entry.mode & 0o100) !== 0) return;
    const why = 'its permissions do not let you enter it, so its content cannot be protected';
    const advice = 'Run chmod u+rwx on it, or switch the sandbox off';
    throw new SandboxError('cannot_confine', `Cannot protect ${folder}: ${why}. ${advice}`, {
      path: folder,
    });
  }

  /** No command may replace a link on the way to a guarded path, nor the folders that hold the link. */
  #watchLink(path: string): void {
    if (!this.#writable.some((folder) => isBelow(folder, path))) return;
    this.guard(dirname(path), 'pinned');
    this.#watched.set(path, { path, link: readlinkSync(path) });
  }

  /** Hides a path outside of the writable folders. Commands cannot create or replace anything there. */
  #hideElsewhere(path: string, links: number): void {
    const entry = entryOf(path);
    if (entry === undefined) return;
    const real = realPathOf(path);
    if (real === path) return this.#add(path, 'hidden', entry.isDirectory());
    if (links < maxLinks && entryOf(real) !== undefined) this.guard(real, 'hidden', links + 1);
  }

  #keep(path: string, guard: KeptPlace['guard'] | undefined): void {
    if (guard !== undefined && this.#kept.get(path) !== 'read-only') this.#kept.set(path, guard);
  }

  #add(path: string, guard: GuardedPath['guard'], isFolder: boolean): void {
    const known = this.#guarded.get(path);
    if (known === undefined || strength[known.guard] < strength[guard])
      this.#guarded.set(path, { path, guard, isFolder });
  }

  plan(): Omit<GuardPlan, 'repositories'> {
    const all = [...this.#guarded.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const isCovered = (path: string, by: GuardedPath['guard']) => {
      for (let at = dirname(path); dirname(at) !== at; at = dirname(at)) {
        const above = this.#guarded.get(at);
        if (above?.guard === by && !this.#isShown(path, above)) return true;
      }
      return false;
    };
    // Paths below a hidden folder do not exist for the command. Paths below a read-only folder need no
    // guard, and a mount for a pinned path would make it writable again.
    const isVisible = ({ path, guard }: { readonly path: string; readonly guard?: string }) =>
      !isCovered(path, 'hidden') && (guard === 'hidden' || !isCovered(path, 'read-only'));
    const watched = [...this.#watched.values()].filter(isVisible);
    const guarded = all.filter(isVisible);
    const kept = guarded.flatMap(({ path, isFolder }) => {
      const guard = this.#kept.get(path);
      if (guard === undefined) return [];
      const hasContent = guard === 'read-only' && !isFolder;
      return [{ path, guard, file: hasContent ? keptFile(path) : undefined }];
    });
    const modes = new Map([...this.#modes].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    return { guarded, watched, kept, modes };
  }

  /**
   * True if a path is visible although a folder above it is hidden. That is so if a writable folder
   * between them is mounted again. An untrusted project can hide the folder above the workspace.
   */
  #isShown(path: string, { path: above, guard }: GuardedPath): boolean {
    const isBetween = (folder: string) =>
      (folder === above || isBelow(above, folder)) && isBelow(folder, path);
    return guard === 'hidden' && this.#writable.some(isBetween);
  }
}

/** The reason why a path is guarded. */
type GuardReason = 'read-only' | 'program' | 'settings' | 'pinned' | 'hidden';

interface GuardKind {
  readonly guard: GuardedPath['guard'];
  /** What happens if another program replaces the place. Undefined if nothing happens. */
  readonly kept: KeptPlace['guard'] | undefined;
  /** Whether a file with several hard links is refused. */
  readonly checksLinks: boolean;
}

const guards: Readonly<Record<GuardReason, GuardKind>> = {
  'read-only': { guard: 'read-only', kept: 'read-only', checksLinks: true },
  // A user can edit settings and update programs while a command runs, so they are not restored.
  settings: { guard: 'read-only', kept: undefined, checksLinks: true },
  program: { guard: 'read-only', kept: 'pinned', checksLinks: false },
  pinned: { guard: 'pinned', kept: 'pinned', checksLinks: false },
  // Other programs replace files with keys, and the right content cannot be guessed, so it is not
  // restored.
  hidden: { guard: 'hidden', kept: 'pinned', checksLinks: false },
};

const strength = { pinned: 0, 'read-only': 1, hidden: 2 } as const;

/** Maximum number of files in a guarded folder that are checked for hard links. */
const maxChecked = 1000;

/**
 * Throws if a guarded file has several hard links. A command could change the file through a second name
 * in the workspace.
 */
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

/** Maximum size of a file that is kept for restoring, in bytes. */
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

/**
 * Follows a path from a real folder as the kernel does. Returns the links on the way, and the real path.
 * What does not exist is no link.
 */
function followLinks(
  folder: string,
  path: readonly string[],
): { readonly links: readonly string[]; readonly real: string } {
  const links: string[] = [];
  const rest = path.flatMap((part) => part.split(sep));
  let at = path[0]?.startsWith(sep) ? sep : folder;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name);
    // `join` has removed the last name for `..`, and nothing is to do for an empty name.
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

/** True if a path is below a folder. False for the folder itself. */
export function isBelow(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** Resolves the links of the existing part of a path. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), path.slice(parent.length));
  }
}
