import {
  chmodSync,
  type FSWatcher,
  lstatSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorCodeOf } from '../contract/workspace-error.ts';
import { isHarmlessChange } from '../git/git-config.ts';
import { readRegularFileSync } from '../git/read-regular-file.ts';
import { atRealEntry, inRealFolder } from '../workspace/folder.ts';
import { isKeptName, moveAway } from '../workspace/kept-names.ts';
import {
  type KeptFile,
  type KeptPlace,
  maxKeptBytes,
  type WatchedName,
} from './protected-paths.ts';

/** Watches paths while a command runs. */
export interface NameWatch {
  /** This signal aborts as soon as one of the paths has changed. */
  readonly blocked: AbortSignal;
  /**
   * Checks the hidden paths. Returns true if the command may have read one of them, because another program
   * replaced or created it. Output that the command printed after that moment must not be used.
   */
  isExposed(): boolean;
  /**
   * Checks all paths a last time and stops watching. Returns sentences for the model that describe the
   * changes.
   */
  finish(): readonly string[];
}

/**
 * Watches paths that no command may create or replace. A file that appears at such a path is renamed
 * immediately, so that no program uses it. The renamed file is kept for the user.
 *
 * If a command removes the owner's permissions of a folder in `modes`, they are restored. A protected name that
 * appears in the folder of `newNames` is renamed too.
 *
 * The function also watches paths whose mounts end if a program outside of the sandbox replaces them. It then
 * stops the command. After the end of the command it restores the path, unless the change is harmless.
 *
 * If a program outside of the sandbox replaces or creates a path of `hidden`, the command is stopped too.
 *
 * All paths must be real paths, except for links in their last segments. Another command may replace a folder on such a
 * path by a link while this function works. So it uses each path only through its open folder.
 */
export function watchNames(
  names: readonly WatchedName[],
  places: readonly KeptPlace[] = [],
  modes: ReadonlyMap<string, number> = new Map(),
  newNames?: NewNames,
  hidden?: HiddenPaths,
): NameWatch {
  const controller = new AbortController();
  const changed = new Map<string, Restored>();
  const replaced = new Set<KeptPlace>();
  /** The stamps of the kept files before the command. */
  const stamps = new Map<KeptPlace, string | undefined>();
  const checkName = (name: WatchedName) => {
    if (isUnchanged(name, modes)) return;
    changed.set(name.path, restore(name, modes));
    controller.abort();
  };
  const checkPlace = (place: KeptPlace, identity: string | undefined) => {
    const now = identityOf(place.path);
    // The path was removed, so a command has nothing to change there.
    if (now === undefined || now === identity) return;
    replaced.add(place);
    controller.abort();
  };
  const checks: NameCheck[] = [
    ...names.map((name) => ({ path: name.path, check: () => checkName(name) })),
    ...places.map((place) => {
      const identity = identityOf(place.path);
      if (place.file !== undefined) stamps.set(place, stampOf(place.path));
      return { path: place.path, check: () => checkPlace(place, identity) };
    }),
  ];
  if (newNames !== undefined) checks.push(checkNewNames(newNames, checkName));
  const exposed = new Set<string>();
  const onExposed = (path: string) => {
    exposed.add(path);
    controller.abort();
  };
  const ofHidden = hidden === undefined ? [] : checkHidden(hidden, onExposed);
  checks.push(...ofHidden);
  const checkAll = () => {
    for (const { check } of checks) check();
  };
  const stopWatching = watchChecks(checks, checkAll);
  const checkLast = () => {
    restoreModes(modes);
    checkAll();
    restoreModes(modes);
    return sentencesOf(changed);
  };
  open.add(checkLast);
  return {
    blocked: controller.signal,
    isExposed() {
      for (const { check } of ofHidden) check();
      return exposed.size > 0;
    },
    finish() {
      stopWatching();
      open.delete(checkLast);
      return [
        ...checkLast(),
        ...[...stamps].flatMap(([place, stamp]) =>
          replaced.has(place) ? [] : changedInPlace(place, stamp),
        ),
        ...[...replaced].map(restorePlace),
        ...[...exposed].map(
          (path) =>
            `The sandbox stopped the command, because another program replaced or created ${path}, which commands must not read. Later output of the command is not shown. Run it again`,
        ),
      ];
    },
  };
}

/**
 * Checks the names of a command whose process ended before it could check them. Returns sentences about the changes.
 */
export function checkNames(names: readonly WatchedName[], newNames?: NewNames): readonly string[] {
  const changed = new Map<string, Restored>();
  const checkName = (name: WatchedName) => {
    if (!isUnchanged(name, new Map())) changed.set(name.path, restore(name, new Map()));
  };
  for (const name of names) checkName(name);
  if (newNames !== undefined) checkNewNames(newNames, checkName).check();
  return sentencesOf(changed);
}

/**
 * For each running command, a function that checks the paths of the command a last time. The function returns
 * sentences about the changes.
 */
const open = new Set<() => readonly string[]>();

/**
 * Checks the paths of all running commands a last time, synchronously. Call it if this process ends at once, after
 * the commands were killed. Returns sentences about the changes.
 */
export function checkOpenWatches(): readonly string[] {
  return [...open].flatMap((check) => check());
}

/** The result of restoring a path that a command has changed. */
interface Restored {
  /** The new path of the file that appeared there. Undefined if there was no file, or if it was not renamed. */
  readonly away: string | undefined;
  /** True if the path is as before the command. */
  readonly isRestored: boolean;
}

function sentencesOf(changed: ReadonlyMap<string, Restored>): readonly string[] {
  return [...changed].map(([path, { away, isRestored }]) => {
    if (isRestored && away === undefined)
      return `The sandbox restored the link ${path}: commands must not remove or replace it`;
    return isRestored
      ? `The sandbox renamed ${path}: commands must not create or replace it. It is now ${basename(away ?? path)}. If the user created it, the user can rename it back. Set outside_sandbox if the user wants the command to create it`
      : `The sandbox could not rename ${path}, which commands must not create or replace. Tell the user to remove it before git is used`;
  });
}

interface NameCheck {
  readonly path: string;
  /** Returns true if a change of this name in the folder is a reason for the check. Default: the name of the path. */
  readonly isAbout?: ((name: string) => boolean) | undefined;
  check(): void;
}

/** The names that must not appear in a folder. */
export interface NewNames {
  readonly folder: string;
  readonly isProtected: (name: string) => boolean;
  /** The names that may be there already. Default: all names that are there now. */
  readonly known?: ReadonlySet<string> | undefined;
}

/** Returns a check that finds protected names that were not in the folder before. */
function checkNewNames(
  { folder, isProtected, known }: NewNames,
  checkName: (name: WatchedName) => void,
): NameCheck {
  const isAbout = (name: string) => isProtected(name) && !isKeptName(name);
  const protectedIn = () => namesIn(folder).filter(isAbout);
  const before = new Set(protectedIn().filter((name) => known?.has(name) ?? true));
  const check = () => {
    for (const name of protectedIn())
      if (!before.has(name)) checkName({ path: join(folder, name), link: undefined });
  };
  return { path: join(folder, '*'), isAbout, check };
}

/** The paths that a command must not read. */
export interface HiddenPaths {
  readonly root: string;
  /** The paths that the sandbox hides. */
  readonly paths: readonly string[];
  /** Returns true if a path that did not exist before must be hidden too. Default: no further path is hidden. */
  readonly isHidden?: ((path: string) => boolean) | undefined;
}

/** Maximum number of names of a folder that are stored. With more names, some are checked again. */
const maxNames = 100_000;

/**
 * Returns checks that find hidden paths that were replaced, because the mounts over them have ended. Further
 * checks find new paths that must be hidden, in the root and in the folders that contain hidden paths.
 */
function checkHidden(
  { root, paths, isHidden }: HiddenPaths,
  onExposed: (path: string) => void,
): readonly NameCheck[] {
  const replacements = paths.map((path) => {
    const identity = identityOf(path);
    const check = () => {
      const now = identityOf(path);
      if (now !== undefined && now !== identity) onExposed(path);
    };
    return { path, check };
  });
  if (isHidden === undefined) return replacements;
  const creations = [...new Set([root, ...paths.map((path) => dirname(path))])].map((folder) => {
    const known = new Set(namesIn(folder));
    const isAbout = (name: string) => {
      if (known.has(name)) return false;
      if (isHidden(join(folder, name))) return true;
      if (known.size < maxNames) known.add(name);
      return false;
    };
    const check = () => {
      for (const name of namesIn(folder)) if (isAbout(name)) onExposed(join(folder, name));
    };
    return { path: join(folder, '*'), isAbout, check };
  });
  return [...replacements, ...creations];
}

/** Returns the names in a folder. Empty if it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Maximum number of events in one turn of the event loop. The kernel's queue holds 16,384 events by default
 * and drops more. A command that changes many files could otherwise hide the change of a watched path.
 */
const maxEvents = 1000;
/** Time between two checks of all paths if events are not reliable, in milliseconds. */
const pollEveryMs = 20;

/**
 * Runs a check when its path changes. The returned function stops watching. If the system cannot watch a
 * folder, or after too many events, `checkAll` runs at intervals instead. Otherwise a command that fills the
 * event queue would block this process.
 */
function watchChecks(checks: readonly NameCheck[], checkAll: () => void): () => void {
  const watchers = new Set<FSWatcher>();
  let polling: NodeJS.Timeout | undefined;
  let isOver = false;
  let events = 0;
  const stop = () => {
    for (const watcher of watchers) watcher.close();
    watchers.clear();
    clearInterval(polling);
  };
  const poll = () => {
    stop();
    if (isOver) return;
    polling = setInterval(checkAll, pollEveryMs).unref();
    checkAll();
  };
  const countEvent = () => {
    if (events === 0) setImmediate(() => (events = 0));
    events++;
    if (events > maxEvents) poll();
  };
  for (const [folder, inside] of Map.groupBy(checks, ({ path }) => dirname(path))) {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        for (const { path, isAbout, check } of inside)
          if (name === null || (isAbout?.(name) ?? name === basename(path))) check();
        countEvent();
      });
      watchers.add(watcher.on('error', poll));
    } catch {
      poll();
      break;
    }
  }
  return () => {
    isOver = true;
    stop();
  };
}

function isUnchanged({ path, link }: WatchedName, modes: ReadonlyMap<string, number>): boolean {
  const isSame = () =>
    atRealEntry(path, (entry) => {
      const found = lstatSync(entry, { throwIfNoEntry: false });
      if (found === undefined) return link === undefined;
      return found.isSymbolicLink() && readlinkSync(entry) === link;
    });
  const attempt = () => {
    try {
      return isSame();
    } catch (error) {
      switch (errorCodeOf(error)) {
        case 'ENOENT':
          return link === undefined;
        // A command replaced the folder, so nothing guards the path any more.
        case 'ENOTDIR':
        case 'ELOOP':
        case 'ESTALE':
          return false;
        default:
          return undefined;
      }
    }
  };
  const first = attempt();
  if (first !== undefined) return first;
  restoreModes(modes);
  // Without access, the folder belongs to a different user, so a command cannot reach the path.
  return attempt() ?? true;
}

/**
 * Renames the file that appeared at a watched path, and restores the link.
 */
function restore({ path, link }: WatchedName, modes: ReadonlyMap<string, number>): Restored {
  let away = moveAwayAt(path);
  if (away === undefined) {
    // The command may have made the folder read-only. The folder gets write permission, then the rename is
    // tried again.
    restoreModes(modes, dirname(path));
    away = moveAwayAt(path);
  }
  if (link !== undefined) {
    try {
      atRealEntry(path, (entry) => symlinkSync(link, entry));
    } catch {
      // A different file was created there in the meantime, and the next check renames it. Or a command replaced the
      // folder.
    }
  }
  return { away, isRestored: isUnchanged({ path, link }, modes) };
}

/** Like `moveAway`, but it renames nothing if a link replaced a folder on the path. */
function moveAwayAt(path: string): string | undefined {
  try {
    const away = atRealEntry(path, moveAway);
    return away && join(dirname(path), basename(away));
  } catch {
    return undefined;
  }
}

/**
 * Restores the owner's permissions of folders if a command has removed them. If `opened` is one of the
 * folders, it also gets write permission.
 */
function restoreModes(modes: ReadonlyMap<string, number>, opened?: string): void {
  for (const [folder, before] of modes) {
    const needed = (before | (folder === opened ? 0o300 : 0)) & 0o700;
    try {
      inRealFolder(folder, (opened) => {
        const { mode } = statSync(opened);
        if ((mode & needed) !== needed) chmodSync(opened, (mode & 0o7777) | needed);
      });
    } catch {
      // The folder was removed or replaced, or it belongs to a different user.
    }
  }
}

/**
 * Returns a text that distinguishes a file or folder from its replacement. It includes the creation time,
 * because the inode number of a removed file can be reused. Returns undefined if the path does not exist.
 */
function identityOf(path: string): string | undefined {
  try {
    const entry = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return entry && `${entry.dev}:${entry.ino}:${entry.birthtimeNs}`;
  } catch {
    return undefined;
  }
}

/** Returns a text that changes if the content of a file changes. Undefined if the file does not exist. */
function stampOf(path: string): string | undefined {
  try {
    const entry = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return entry && `${entry.ctimeNs}:${entry.mtimeNs}:${entry.size}`;
  } catch {
    return undefined;
  }
}

/**
 * Returns a sentence for the model if a guarded file has a new content, although nobody replaced the file. A mount
 * keeps commands from changing the file, so usually the user has changed it.
 */
function changedInPlace({ path, file }: KeptPlace, stamp: string | undefined): readonly string[] {
  const now = stampOf(path);
  if (now === undefined || now === stamp || isAsBefore(path, file)) return [];
  return [
    `${path} changed while the command ran. The command should not be able to change it. Tell the user to check the file, unless the user changed it`,
  ];
}

/**
 * Restores a path after a program outside of the sandbox replaced it. The command may have changed the new
 * file, and nobody can tell which of the two wrote it. Returns a sentence for the model.
 */
function restorePlace(place: KeptPlace): string {
  const { path, guard, file } = place;
  const why = `The sandbox stopped the command, because another program replaced ${path} while it ran`;
  // A pinned folder itself is not restored, because the paths in it are restored one at a time.
  if (guard === 'pinned' || isAsBefore(path, file)) return `${why}. Run it again`;
  const away = moveAwayAt(path);
  const isRestored = away !== undefined && (file === undefined || writeAgain(path, file));
  if (!isRestored) return `${why}. ${path} could not be restored: tell the user to check it`;
  const now = file === undefined ? '' : ', and its earlier content is there again';
  return `${why}. The command could have changed it too, so it is now ${away}${now}. Tell the user to compare them`;
}

/** True if a file has its earlier content, or if it contains git settings with a harmless change. */
function isAsBefore(path: string, file: KeptFile | undefined): boolean {
  if (file === undefined) return false;
  try {
    const now = atRealEntry(path, (entry) => readRegularFileSync(entry, maxKeptBytes));
    if (now === undefined) return false;
    if (now.equals(file.content)) return true;
    const isConfig = ['config', 'config.worktree'].includes(basename(path));
    return isConfig && isHarmlessChange(file.content.toString('utf8'), now.toString('utf8'));
  } catch {
    return false;
  }
}

/**
 * Maximum number of attempts to write a file. A different command that is being stopped may create the file
 * again.
 */
const maxAttempts = 100;

function writeAgain(path: string, { content, mode }: KeptFile): boolean {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    try {
      atRealEntry(path, (entry) => writeFileSync(entry, content, { mode, flag: 'wx' }));
      return true;
    } catch {
      moveAwayAt(path);
    }
  }
  return false;
}
