import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  type FSWatcher,
  lstatSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { isHarmlessChange } from '../git/git-config.ts';
import type { KeptFile, KeptPlace, WatchedName } from './protected-paths.ts';

/** Watches names while a command runs. */
export interface NameWatch {
  /** Aborts as soon as one of the names has changed. */
  readonly blocked: AbortSignal;
  /**
   * Checks all names a last time and stops watching. Returns sentences for the model about the changes.
   */
  finish(): readonly string[];
}

/**
 * Watches names that no command may create or replace. A file that appears there is renamed at once, so
 * that no other program uses it. The renamed file is kept for the user.
 *
 * If a command removes the owner's permissions of a folder in `modes`, they are restored.
 *
 * The function also watches places whose mounts end if a program outside of the sandbox replaces them.
 * The command is then stopped. After its end the place is restored, unless the change is harmless.
 */
export function watchNames(
  names: readonly WatchedName[],
  places: readonly KeptPlace[] = [],
  modes: ReadonlyMap<string, number> = new Map(),
): NameWatch {
  const controller = new AbortController();
  /** The changed names, with true if the file could be renamed. */
  const changed = new Map<string, boolean>();
  const replaced = new Set<KeptPlace>();
  const checkName = (name: WatchedName) => {
    if (isUnchanged(name, modes)) return;
    changed.set(name.path, restore(name, modes));
    controller.abort();
  };
  const checkPlace = (place: KeptPlace, identity: string | undefined) => {
    const now = identityOf(place.path);
    // The place was removed, so there is nothing that a command could change.
    if (now === undefined || now === identity) return;
    replaced.add(place);
    controller.abort();
  };
  const checks = [
    ...names.map((name) => ({ path: name.path, check: () => checkName(name) })),
    ...places.map((place) => {
      const identity = identityOf(place.path);
      return { path: place.path, check: () => checkPlace(place, identity) };
    }),
  ];
  const checkAll = () => {
    for (const { check } of checks) check();
  };
  const stopWatching = watchChecks(checks, checkAll);
  return {
    blocked: controller.signal,
    finish() {
      stopWatching();
      restoreModes(modes);
      checkAll();
      restoreModes(modes);
      return [
        ...[...changed].map(([path, isRenamed]) =>
          isRenamed
            ? `The sandbox renamed ${path}: commands must not create or replace it. Set outside_sandbox if the user wants it`
            : `The sandbox could not rename ${path}, which commands must not create or replace. Tell the user to remove it before git is used`,
        ),
        ...[...replaced].map(restorePlace),
      ];
    },
  };
}

interface NameCheck {
  readonly path: string;
  check(): void;
}

/**
 * Maximum number of events in one turn of the event loop. The queue of the kernel holds 16,384 events by
 * default and drops further ones. A command that changes many files could otherwise hide a name.
 */
const maxEvents = 1000;
/** Time between two checks of all names if events are not reliable, in milliseconds. */
const pollEveryMs = 20;

/**
 * Runs a check when its path changes, and returns a function that stops this. If the system cannot watch
 * a folder, or after too many events, `checkAll` runs at intervals instead. Otherwise a command that
 * keeps filling the queue would block this process.
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
        for (const { path, check } of inside) if (name === null || name === basename(path)) check();
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
  const isSame = () => {
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry === undefined) return link === undefined;
    return entry.isSymbolicLink() && readlinkSync(path) === link;
  };
  try {
    return isSame();
  } catch {
    restoreModes(modes);
  }
  try {
    return isSame();
  } catch {
    // The folder belongs to another user, so a command cannot reach the name.
    return true;
  }
}

/**
 * Renames the file that appeared at a watched name, and restores the link. Returns false if the name is
 * still changed.
 */
function restore({ path, link }: WatchedName, modes: ReadonlyMap<string, number>): boolean {
  const away = `${path}.blocked-by-sandbox-${randomUUID()}`;
  if (!moveAway(path, away)) {
    // The command may have made the folder read-only. The permissions are set again afterwards.
    restoreModes(modes, dirname(path));
    moveAway(path, away);
  }
  if (link !== undefined) {
    try {
      symlinkSync(link, path);
    } catch {
      // Another file was created there in the meantime. The next check renames it.
    }
  }
  return isUnchanged({ path, link }, modes);
}

/**
 * Restores the owner's permissions of folders if a command has removed them. If `opened` is one of the
 * folders, it also gets the permission to change it.
 */
function restoreModes(modes: ReadonlyMap<string, number>, opened?: string): void {
  for (const [folder, before] of modes) {
    const needed = (before | (folder === opened ? 0o300 : 0)) & 0o700;
    try {
      const entry = lstatSync(folder);
      if (entry.isDirectory() && (entry.mode & needed) !== needed)
        chmodSync(folder, (entry.mode & 0o7777) | needed);
    } catch {
      // The folder was removed, or it belongs to another user.
    }
  }
}

/**
 * Returns a text that distinguishes a file or folder from one that replaced it. It includes the time of
 * creation, because the inode number of a removed file can be used again. Undefined if the path does not
 * exist.
 */
function identityOf(path: string): string | undefined {
  try {
    const entry = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return entry && `${entry.dev}:${entry.ino}:${entry.birthtimeNs}`;
  } catch {
    return undefined;
  }
}

/**
 * Restores a place after a program outside of the sandbox replaced it, because the command may have
 * changed the new file. It is unknown which of the two wrote it. Returns a sentence for the model.
 */
function restorePlace(place: KeptPlace): string {
  const { path, guard, file } = place;
  const why = `The sandbox stopped the command, because another program replaced ${path} while it ran`;
  // A pinned folder itself is not restored, because the places in it are restored one by one.
  if (guard === 'pinned' || isAsBefore(path, file)) return `${why}. Run it again`;
  const away = `${path}.blocked-by-sandbox-${randomUUID()}`;
  const isRestored = moveAway(path, away) && (file === undefined || writeAgain(path, file));
  if (!isRestored) return `${why}. ${path} could not be restored: tell the user to check it`;
  const now = file === undefined ? '' : ', and its earlier content is there again';
  return `${why}. The command could have changed it too, so it is now ${away}${now}. Tell the user to compare them`;
}

/** True if a file has its earlier content, or if it has git settings with a harmless change. */
function isAsBefore(path: string, file: KeptFile | undefined): boolean {
  if (file === undefined) return false;
  try {
    if (!lstatSync(path).isFile()) return false;
    const now = readFileSync(path);
    if (now.equals(file.content)) return true;
    const isConfig = ['config', 'config.worktree'].includes(basename(path));
    return isConfig && isHarmlessChange(file.content.toString('utf8'), now.toString('utf8'));
  } catch {
    return false;
  }
}

function moveAway(path: string, to: string): boolean {
  try {
    renameSync(path, to);
    return true;
  } catch {
    return false;
  }
}

/**
 * Maximum number of attempts to write a file. Another command that is being stopped may create the file
 * again.
 */
const maxAttempts = 100;

function writeAgain(path: string, { content, mode }: KeptFile): boolean {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    try {
      writeFileSync(path, content, { mode, flag: 'wx' });
      return true;
    } catch {
      moveAway(path, `${path}.blocked-by-sandbox-${randomUUID()}`);
    }
  }
  return false;
}
