import { type Dirent, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { readRegularFileSync } from '../git/read-regular-file.ts';
import type { FoundRepository, RepositorySearch } from '../git/repositories/repository-search.ts';
import { atRealEntry } from '../workspace/folder.ts';
import { isBelow, isInside } from '../workspace/match-path.ts';
import {
  entryOf,
  followLinks,
  maxLinks,
  type PathFollower,
  pathFollower,
} from '../workspace/real-form.ts';
import { type GitPlaces, gitPlaces, otherSettings } from './places/git-places.ts';
import { emptySubmodules, LaterPlaces, ReadPlaces } from './places/later-git-places.ts';
import { currentMounts, secondPlaces } from './places/mount-table.ts';

/**
 * A path with the actions that a confined command must not perform on it. `pinned` means that the command
 * must not move or remove it.
 */
export interface GuardedPath {
  readonly path: string;
  readonly guard: 'hidden' | 'read-only' | 'pinned';
  readonly isFolder: boolean;
}

/** A path that a mount cannot guard, because the path does not exist or is a symbolic link. */
export interface WatchedName {
  readonly path: string;
  /** The target of the link. Undefined if the path must not exist. */
  readonly link: string | undefined;
}

/**
 * A guarded path whose mount ends when a program outside of the sandbox replaces the path. For example, git
 * writes its settings to a new file and then renames that file.
 */
export interface KeptPlace {
  readonly path: string;
  readonly guard: 'read-only' | 'pinned';
  /** The content of the file before the command. Undefined for a folder and for a large file. */
  readonly file: KeptFile | undefined;
}

export interface KeptFile {
  readonly content: Buffer;
  readonly mode: number;
}

/** Describes how the sandbox guards the paths of one workspace. */
export interface GuardPlan {
  /** The guarded paths. Parents come before their children. */
  readonly guarded: readonly GuardedPath[];
  readonly watched: readonly WatchedName[];
  readonly kept: readonly KeptPlace[];
  /**
   * The permissions of the folders that contain guarded paths, parents first. A command can change these
   * permissions, and this process would then lose access to the paths.
   */
  readonly modes: ReadonlyMap<string, number>;
  /** The repositories in the folders of the workspace. */
  readonly repositories: readonly FoundRepository[];
  /** See `GitPlaces.folders` and `emptySubmodules`. Most commands must not change these places. */
  readonly gitFolders: readonly string[];
  /** Finds places of git that the plan does not guard, because they appeared later. */
  readonly later: LaterPlaces;
}

/** Options of `planGuards`. */
export interface PlanOptions {
  readonly root: string;
  /** True if the command can change the workspace. */
  readonly canChange: boolean;
  readonly repositories: RepositorySearch;
  /** The repositories in `node_modules` folders. */
  readonly packages: readonly FoundRepository[];
  /** The real paths that commands can change, including the workspace. */
  readonly writable: readonly string[];
  readonly keys: readonly string[];
  readonly startUp: readonly string[];
  /** See `SandboxOptions.hide`. */
  readonly hide: readonly string[];
  /** See `SandboxOptions.protect`. */
  readonly protect: readonly string[];
  /** See `SandboxOptions.programs`. */
  readonly programs: readonly string[];
  /** Folders that commands must not replace if they are in another folder of `writable`. */
  readonly nested: readonly string[];
  /** True if earlier commands were not checked. The check after this command renames their indexes. Default: false. */
  readonly isUnfinished?: boolean | undefined;
  /** Follows the paths. It must be new, because it remembers folders. Default: a new function. */
  readonly follow?: PathFollower | undefined;
}

/**
 * Returns the plan that guards all paths in their current state. No command may run in the workspace during
 * this call, because it could replace a path between the check and the mount.
 */
export function planGuards(options: PlanOptions): GuardPlan {
  const { root, canChange, repositories, packages, writable, keys, startUp, hide } = options;
  const planner = new Planner(writable, { follow: options.follow });
  const read = new ReadPlaces();
  const onRead = (path: string) => read.add(path);
  const ofGit = canChange
    ? gitPlaces(root, repositories, { creates: true, packages, onRead })
    : noPlaces;
  const protect = [...(canChange ? otherSettings : []), ...options.protect].map((path) =>
    resolve(root, path),
  );
  const mounts = currentMounts();
  const guardAll = (paths: readonly string[], as: GuardReason) => {
    const all = [...paths, ...secondPlaces(paths, writable, mounts)];
    for (const path of all) planner.guard(path, as);
  };
  guardAll(options.programs, 'program');
  guardAll(ofGit.programs, 'git program');
  const isInOther = (path: string) => writable.some((folder) => isBelow(folder, path));
  guardAll([...ofGit.pinned, ...options.nested.filter(isInOther)], 'pinned');
  guardAll([...ofGit.guarded, ...startUp], 'read-only');
  guardAll(protect, 'settings');
  guardAll([...keys, ...hide], 'hidden');
  const ofIndexes = { onRead, acceptsUnreadable: options.isUnfinished };
  const empty = canChange ? emptySubmodules(root, repositories, ofGit.below, ofIndexes) : [];
  const gitFolders = [...ofGit.folders, ...empty];
  const later = new LaterPlaces({ root, writable, places: ofGit, empty, read });
  return { ...planner.plan(), repositories: ofGit.below, gitFolders, later };
}

interface PlanExtension extends Pick<PlanOptions, 'root' | 'writable' | 'protect'> {
  readonly links: readonly string[];
  /** True if the command may change the git folders of the plan. */
  readonly changesGit: boolean;
  /** Places outside of the writable folders to hide if they exist now. */
  readonly hidden: readonly string[];
  /** The names in the workspace before all running commands. */
  readonly names: ReadonlySet<string>;
}

/**
 * Adds paths to a plan that a running command may use. The paths of the plan are not checked again, because
 * the running command could manipulate the check.
 */
export function extendPlan(
  plan: GuardPlan,
  { root, writable, protect, links, changesGit, hidden, names }: PlanExtension,
): GuardPlan {
  const appeared = appearedPlaces(plan, hidden);
  const gitFolders = changesGit ? [] : plan.gitFolders;
  if (protect.length + links.length + appeared.length + gitFolders.length === 0) return plan;
  const planner = new Planner(writable, { known: plan });
  for (const path of appeared) planner.hideElsewhere(path);
  for (const path of links) planner.keepLink(path);
  const settings = protect.map((path) => resolve(root, path));
  for (const path of [...settings, ...secondPlaces(settings, writable)])
    planner.guard(path, 'settings');
  for (const path of [...gitFolders, ...secondPlaces(gitFolders, writable)])
    planner.guard(path, 'git');
  const { guarded, watched, modes, kept: added } = planner.plan();
  const isGuarded = new Set(guarded.map(({ path }) => path));
  const isKnown = new Set(plan.kept.map(({ path }) => path));
  const kept = [
    ...plan.kept.filter(({ path }) => isGuarded.has(path)),
    // A running command may have created the file, so its content must not be restored.
    ...added
      .filter(({ path }) => !isKnown.has(path))
      .map((place) =>
        names.has(nameBelow(root, place.path)) ? place : { ...place, file: undefined },
      ),
  ];
  return { ...plan, guarded, watched, modes, kept };
}

/** Returns the first name of a path below a folder. */
export function nameBelow(folder: string, path: string): string {
  return relative(folder, path).split(sep)[0] ?? '';
}

/** Returns the places that exist now and that the plan does not hide. */
function appearedPlaces({ guarded }: GuardPlan, places: readonly string[]): readonly string[] {
  if (places.length === 0) return [];
  const known = new Map(guarded.map((one) => [one.path, one]));
  return places.filter((path) => {
    const entry = entryOf(path);
    const one = known.get(path);
    const isKnown = one?.guard === 'hidden' && one.isFolder === entry?.isDirectory();
    return entry !== undefined && !isKnown;
  });
}

const noPlaces: GitPlaces = {
  ...{ guarded: [], named: [], pinned: [], programs: [], folders: [], below: [] },
};

interface PlannerOptions {
  /** The plan to extend. Default: an empty plan. */
  readonly known?: GuardPlan | undefined;
  /** See `PlanOptions.follow`. */
  readonly follow?: PathFollower | undefined;
}

class Planner {
  readonly #writable: readonly string[];
  readonly #guarded = new Map<string, GuardedPath>();
  readonly #watched = new Map<string, WatchedName>();
  /**
   * The paths that no program may replace while a command runs. With `read-only`, the sandbox restores the
   * earlier content. With `pinned`, it only stops the command.
   */
  readonly #kept = new Map<string, KeptPlace['guard']>();
  readonly #modes = new Map<string, number>();
  readonly #follow: PathFollower;

  constructor(writable: readonly string[], { known, follow = pathFollower() }: PlannerOptions) {
    this.#writable = writable;
    this.#follow = follow;
    if (known === undefined) return;
    for (const one of known.guarded) this.#guarded.set(one.path, one);
    for (const one of known.watched) this.#watched.set(one.path, one);
    for (const [folder, mode] of known.modes) this.#modes.set(folder, mode);
  }

  /** Guards a path. If the path does not exist, no command may create it. */
  guard(path: string, as: GuardReason, links = 0): void {
    const base = this.#writable.find((folder) => isBelow(folder, path));
    if (base === undefined) return this.#guardElsewhere(path, as, links);
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
      // While the file exists, no command can create a path below it.
      const isGuarded = isLast || !entry.isDirectory();
      this.#add(at, isGuarded ? guard : 'pinned', entry.isDirectory());
      if (isGuarded && checksLinks)
        for (const link of linksBelow(at, entry, as))
          if (links < maxLinks) this.guard(link, as, links + 1);
      this.#keep(at, isGuarded ? kept : 'pinned');
      if (!entry.isDirectory()) return;
      if (!isLast) this.#keepMode(at, entry);
    }
  }

  /**
   * Stores the permissions of a folder. Throws if this user cannot enter the folder, because the folder would
   * look empty. A command could make it accessible again.
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

  /** Guards a link, the links in its target, and the folders that contain them. */
  keepLink(path: string): void {
    for (const link of this.#follow(path).links) this.#watchLink(link);
  }

  /**
   * Guards a link that leads to a guarded path, and the folders that contain the link. No command may replace
   * them.
   */
  #watchLink(path: string): void {
    if (!this.#writable.some((folder) => isBelow(folder, path))) return;
    this.guard(dirname(path), 'pinned');
    this.#watched.set(path, { path, link: readlinkSync(path) });
  }

  /**
   * Guards a path outside the writable folders. Commands cannot create or replace it there. But it can lead
   * through links into a writable folder, for example if the home folder is linked, or if `~/.bashrc` is a link
   * to a file of the workspace.
   */
  #guardElsewhere(path: string, as: GuardReason, links: number): void {
    const { links: followed, real, entry } = this.#follow(path);
    if (real === path) {
      if (as === 'hidden' && entry !== undefined) this.#add(path, 'hidden', entry.isDirectory());
      return;
    }
    for (const link of followed) this.#watchLink(link);
    if (links < maxLinks) this.guard(real, as, links + 1);
  }

  /** Hides a place outside the writable folders in its current form. */
  hideElsewhere(path: string): void {
    const { real, entry } = this.#follow(path);
    if (entry === undefined || this.#writable.some((folder) => isInside(folder, real))) return;
    this.#guarded.set(real, { path: real, guard: 'hidden', isFolder: entry.isDirectory() });
  }

  #keep(path: string, guard: KeptPlace['guard']): void {
    if (this.#kept.get(path) !== 'read-only') this.#kept.set(path, guard);
  }

  #add(path: string, guard: GuardedPath['guard'], isFolder: boolean): void {
    const known = this.#guarded.get(path);
    if (known === undefined || strength[known.guard] < strength[guard])
      this.#guarded.set(path, { path, guard, isFolder });
  }

  plan(): Omit<GuardPlan, 'repositories' | 'gitFolders' | 'later'> {
    const all = [...this.#guarded.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const isCovered = (path: string, by: GuardedPath['guard']) => {
      for (let at = dirname(path); dirname(at) !== at; at = dirname(at)) {
        const above = this.#guarded.get(at);
        if (above?.guard === by && !this.#isShown(path, above)) return true;
      }
      return false;
    };
    // Paths below a hidden folder do not exist for the command. Paths below a read-only folder need no guard of
    // their own. A separate mount for a pinned path in a read-only folder would even make the path writable.
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
   * True if a path is visible although a folder above it is hidden. This happens if a writable folder between
   * them is mounted again. An untrusted project can have a setting that hides the folder above the workspace.
   */
  #isShown(path: string, { path: above, guard }: GuardedPath): boolean {
    const isBetween = (folder: string) =>
      (folder === above || isBelow(above, folder)) && isBelow(folder, path);
    return guard === 'hidden' && this.#writable.some(isBetween);
  }
}

/** The reason why a path is guarded. */
type GuardReason =
  | 'read-only'
  | 'git'
  | 'git program'
  | 'program'
  | 'settings'
  | 'pinned'
  | 'hidden';

interface GuardKind {
  readonly guard: GuardedPath['guard'];
  /** The reaction if a different program replaces the path. */
  readonly kept: KeptPlace['guard'];
  /** True if a file with several hard links is refused. */
  readonly checksLinks: boolean;
}

const guards: Readonly<Record<GuardReason, GuardKind>> = {
  'read-only': { guard: 'read-only', kept: 'read-only', checksLinks: true },
  // The user may use git while a command runs. Git does not replace its folder.
  git: { guard: 'read-only', kept: 'pinned', checksLinks: true },
  // The user may edit settings while a command runs. The command can change the new file before it is stopped,
  // so the sandbox keeps the new file under another name.
  settings: { guard: 'read-only', kept: 'read-only', checksLinks: true },
  // The git of the user runs these programs, so the sandbox restores them. Package managers create hard links to them.
  'git program': { guard: 'read-only', kept: 'read-only', checksLinks: false },
  // The user may update programs while a command runs, so the sandbox does not restore them.
  program: { guard: 'read-only', kept: 'pinned', checksLinks: false },
  pinned: { guard: 'pinned', kept: 'pinned', checksLinks: false },
  // Other programs may replace files with keys. The sandbox cannot decide which content is right, so it does
  // not restore these files.
  hidden: { guard: 'hidden', kept: 'pinned', checksLinks: false },
};

const strength = { pinned: 0, 'read-only': 1, hidden: 2 } as const;

/** Maximum number of entries in a guarded folder to check. */
const maxChecked = 200_000;

/**
 * The folders that are not checked. In `objects`, git finds files by their content, so a changed file is only an error,
 * and `git clone --local` creates hard links. The links in them are guarded (see `GitPlaces.folders`).
 */
const uncheckedName = 'objects';

/**
 * Returns the links in a guarded folder and in the folders below. Their targets need a guard too. Throws if a file has
 * several hard links, because a command could change it through its second name in the workspace.
 */
function linksBelow(path: string, entry: Stats, as: GuardReason): readonly string[] {
  if (entry.isFile()) checkHardLinks(path, entry);
  if (!entry.isDirectory()) return [];
  const folders = [path];
  const links: string[] = [];
  let left = maxChecked;
  for (const folder of folders)
    for (const found of entriesIn(folder)) {
      if (left-- === 0) throw tooManyEntries(path);
      const at = `${folder}${sep}${found.name}`;
      if (found.isSymbolicLink()) links.push(at);
      else if (found.isDirectory()) found.name !== uncheckedName && folders.push(at);
      // Git only adds texts to its logs, and a repository can have very many.
      else if (found.isFile() && !(as === 'git' && logs.test(at.slice(path.length))))
        checkHardLinks(at, entryOf(at));
    }
  return links;
}

/** Matches paths in the logs of a git folder, of its linked worktrees, and of its submodules. */
const logs = /^(?:\/modules\/[^/]+)*(?:\/worktrees\/[^/]+)?\/logs\//;

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // The folder was removed, or this user cannot list it.
    return [];
  }
}

function checkHardLinks(path: string, entry: Stats | undefined): void {
  if (entry === undefined || entry.nlink <= 1) return;
  const why = 'it has several hard links, so a command could change it under another name';
  const advice = 'Replace it by a copy of itself, or switch the sandbox off';
  throw new SandboxError('cannot_confine', `Cannot protect ${path}: ${why}. ${advice}`, { path });
}

function tooManyEntries(path: string): SandboxError {
  const message = `Cannot protect ${path}: it has more than ${maxChecked} files and folders. Remove files, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path });
}

/** Maximum size of a file whose content is kept for restoring, in bytes. */
export const maxKeptBytes = 1_048_576;

function keptFile(path: string): KeptFile | undefined {
  try {
    return atRealEntry(path, (entry) => {
      const mode = entryOf(entry)?.mode ?? 0;
      const content = readRegularFileSync(entry, maxKeptBytes);
      return content && { content, mode: mode & 0o777 };
    });
  } catch {
    return undefined;
  }
}
