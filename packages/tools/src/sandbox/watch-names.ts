import { randomUUID } from 'node:crypto';
import {
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
  /** Checks all names a last time and stops watching. Returns what happened, for the model. */
  finish(): readonly string[];
}

/**
 * Watches names that no command may create or replace. What appears there is renamed at once, so
 * that no other program uses it, and kept for the user.
 *
 * Also watches places whose mounts end if a program outside of the sandbox replaces them. Then the
 * command is stopped, and after its end the place is restored unless the change is harmless.
 */
export function watchNames(
  names: readonly WatchedName[],
  places: readonly KeptPlace[] = [],
): NameWatch {
  const controller = new AbortController();
  const changed = new Set<string>();
  const replaced = new Set<KeptPlace>();
  const checkName = (name: WatchedName) => {
    if (isUnchanged(name)) return;
    restore(name);
    changed.add(name.path);
    controller.abort();
  };
  const checkPlace = (place: KeptPlace, identity: string | undefined) => {
    const now = identityOf(place.path);
    // If it was removed, nothing is there to change.
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
  const folders = Map.groupBy(checks, ({ path }) => dirname(path));
  const watchers = [...folders].flatMap(([folder, inside]) => {
    const watcher = watchFolder(folder, (found) => {
      for (const { path, check } of inside) if (found === null || found === basename(path)) check();
    });
    return watcher ?? [];
  });
  return {
    blocked: controller.signal,
    finish() {
      for (const watcher of watchers) watcher.close();
      for (const { check } of checks) check();
      return [
        ...[...changed].map(
          (path) =>
            `The sandbox renamed ${path}: commands must not create or replace it. Set outside_sandbox if the user wants it`,
        ),
        ...[...replaced].map(restorePlace),
      ];
    },
  };
}

function watchFolder(
  folder: string,
  onChange: (name: string | null) => void,
): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => onChange(name));
    // Without a watcher the names are checked only after the command has ended.
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

function isUnchanged({ path, link }: WatchedName): boolean {
  try {
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry === undefined) return link === undefined;
    return entry.isSymbolicLink() && readlinkSync(path) === link;
  } catch {
    // This user cannot reach the name, so a command could not either.
    return true;
  }
}

function restore({ path, link }: WatchedName): void {
  try {
    renameSync(path, `${path}.blocked-by-sandbox-${randomUUID()}`);
  } catch {
    // The name was removed meanwhile.
  }
  if (link === undefined) return;
  try {
    symlinkSync(link, path);
  } catch {
    // Something else was created there meanwhile. The next check renames it.
  }
}

/**
 * Returns what distinguishes a file or folder from one that replaced it. The number of a removed
 * file can be used again, so the time of creation belongs to it. Undefined if nothing is there.
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
 * Undoes what a command may have done to a place after a program outside of the sandbox replaced
 * it. It is unknown who wrote what is there now. Returns what happened, for the model.
 */
function restorePlace(place: KeptPlace): string {
  const { path, guard, file } = place;
  const why = `The sandbox stopped the command, because another program replaced ${path} while it ran`;
  // The places in a pinned folder are restored one by one.
  if (guard === 'pinned' || isAsBefore(path, file)) return `${why}. Run it again`;
  const away = `${path}.blocked-by-sandbox-${randomUUID()}`;
  const isRestored = moveAway(path, away) && (file === undefined || writeAgain(path, file));
  if (!isRestored) return `${why}. ${path} could not be restored: tell the user to check it`;
  const now = file === undefined ? '' : ', and its earlier content is there again';
  return `${why}. The command could have changed it too, so it is now ${away}${now}. Tell the user to compare them`;
}

/** Whether a file has its earlier content, or settings of git with a harmless change. */
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

/** Another command that is being stopped may create the file again, so this is tried some times. */
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
