import { type FSWatcher, lstatSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SandboxError } from '../contract/sandbox.ts';
import { isHarmlessChange } from '../git/git-config.ts';
import { readRegularFileSync } from '../git/read-regular-file.ts';
import { atRealEntry } from '../workspace/folder.ts';
import { isKeptName } from '../workspace/kept-names.ts';
import {
  isUnchanged,
  moveAwayAt,
  type Restored,
  restore,
  restoreModes,
  sentenceOf,
  sentencesOf,
} from './places/restore-names.ts';
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
  /**
   * False if a file that appeared is still there after `finish`, or if `finish` has not checked all paths. The next command
   * must check the names again.
   */
  isRestored(): boolean;
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
  /** The folders in which the command created too many names. */
  const crowded = new Set<string>();
  let isOver = false;
  let isChecked = false;
  const onCrowd = (folder: string) => {
    if (isOver) return false;
    crowded.add(folder);
    controller.abort();
    return true;
  };
  if (newNames !== undefined) checks.push(checkNewNames(newNames, checkName, onCrowd));
  const exposed = new Set<string>();
  const onExposed = (path: string) => {
    exposed.add(path);
    controller.abort();
  };
  const ofHidden = hidden === undefined ? [] : checkHidden(hidden, onExposed, onCrowd);
  checks.push(...ofHidden);
  const checkAll = () => {
    for (const { check } of checks) check();
  };
  const stopWatching = watchChecks(checks, checkAll);
  const checkLast = () => {
    isOver = true;
    restoreModes(modes);
    checkAll();
    restoreModes(modes);
    isChecked = true;
    return sentencesOf(changed);
  };
  const isRestored = () => isChecked && [...changed.values()].every(({ isThere }) => !isThere);
  const last = { checkLast, isRestored };
  open.add(last);
  return {
    blocked: controller.signal,
    isRestored,
    isExposed() {
      for (const { check } of ofHidden) check();
      return exposed.size > 0;
    },
    finish() {
      stopWatching();
      open.delete(last);
      return [
        ...checkLast(),
        ...[...crowded].map(
          (folder) =>
            `The sandbox stopped the command, because it created more than ${maxNewNames} names directly in ${folder}. The sandbox must list this folder again and again. Create so many files in a new folder below it`,
        ),
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
 * Checks the names of a command whose process ended before it could check them, or could not rename them. Returns
 * sentences about the changes. Throws a `SandboxError` if a path cannot be restored, because the next command would
 * treat it as a file of the user.
 */
export function checkNames(names: readonly WatchedName[], newNames?: NewNames): readonly string[] {
  const changed = new Map<string, Restored>();
  const checkName = (name: WatchedName) => {
    if (!isUnchanged(name, new Map())) changed.set(name.path, restore(name, new Map()));
  };
  for (const name of names) checkName(name);
  if (newNames !== undefined) checkNewNames(newNames, checkName).check();
  for (const [path, restored] of changed)
    if (restored.isThere)
      throw new SandboxError('cannot_confine', sentenceOf(path, restored), { path });
  return sentencesOf(changed);
}

/** For each running command, a function that checks its paths a last time, see `NameWatch`. */
const open = new Set<{
  /** Returns sentences about the changes. */
  checkLast(): readonly string[];
  isRestored(): boolean;
}>();

/**
 * Checks the paths of all running commands a last time, synchronously. Call it if this process ends at once, after
 * the commands were killed. Returns sentences about the changes, and whether all names are restored.
 */
export function checkOpenWatches(): {
  readonly notes: readonly string[];
  readonly isRestored: boolean;
} {
  const notes = [...open].flatMap(({ checkLast }) => checkLast());
  return { notes, isRestored: [...open].every(({ isRestored }) => isRestored()) };
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
  onCrowd: OnCrowd = () => false,
): NameCheck {
  // A comparison with all protected names takes longer than the list of the folder.
  const others = new Set<string>();
  const isAbout = (name: string) => {
    if (others.has(name)) return false;
    if (isProtected(name) && !isKeptName(name)) return true;
    if (others.size < maxNewNames) others.add(name);
    return false;
  };
  const isCrowded = crowdTest(folder, onCrowd);
  const protectedIn = () => {
    const names = namesIn(folder);
    return isCrowded(names.length) ? [] : names.filter(isAbout);
  };
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
  onCrowd: OnCrowd,
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
    const isCrowded = crowdTest(folder, onCrowd);
    const known = new Set(namesIn(folder));
    isCrowded(known.size);
    const isAbout = (name: string) => {
      if (known.has(name)) return false;
      if (isHidden(join(folder, name))) return true;
      if (known.size < maxNames) known.add(name);
      return false;
    };
    const check = () => {
      const names = namesIn(folder);
      isCrowded(names.length);
      for (const name of names) if (isAbout(name)) onExposed(join(folder, name));
    };
    return { path: join(folder, '*'), isAbout, check };
  });
  return [...replacements, ...creations];
}

/**
 * Maximum number of names that a command may create directly in a folder which the sandbox lists while the command runs.
 * To list so many names, this process needs about 0.2 s, in which it does nothing else.
 */
const maxNewNames = 200_000;

/** Called if a command created too many names in a folder. Returns true if it stops the command, so a later check follows. */
type OnCrowd = (folder: string) => boolean;

/** Returns a function that gets the number of names in a folder. The first number is the number before the command. */
function crowdTest(folder: string, onCrowd: OnCrowd): (count: number) => boolean {
  let most: number | undefined;
  return (count) => {
    most ??= count + maxNewNames;
    return count > most && onCrowd(folder);
  };
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
/** Minimum time between two checks of all paths if events are not reliable, in milliseconds. */
const pollEveryMs = 20;
/**
 * Checks of all paths use at most 1/20 of the time, because many names in a folder make each check slow. If that is
 * longer than 2 s between two checks, they use at most 1/6 of the time, because a command could add many names meanwhile.
 */
const [maxShare, maxLateShare, lateMs] = [20, 5, 2000] as const;
/** Number of events after which all paths are checked, because the events can be about very many names. */
const eventsPerCheck = 50_000;

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
  let allEvents = 0;
  const stop = () => {
    for (const watcher of watchers) watcher.close();
    watchers.clear();
    clearTimeout(polling);
  };
  const poll = () => {
    stop();
    if (isOver) return;
    const start = performance.now();
    checkAll();
    const tookMs = performance.now() - start;
    const restMs = Math.min(maxShare * tookMs, Math.max(lateMs, maxLateShare * tookMs));
    polling = setTimeout(poll, Math.max(pollEveryMs, restMs)).unref();
  };
  const countEvent = () => {
    if (events === 0) setImmediate(() => (events = 0));
    events++;
    allEvents++;
    if (events > maxEvents) poll();
    else if (allEvents % eventsPerCheck === 0) checkAll();
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
