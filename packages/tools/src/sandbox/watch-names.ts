import { randomUUID } from 'node:crypto';
import { type FSWatcher, lstatSync, readlinkSync, renameSync, symlinkSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { WatchedName } from './protected-paths.ts';

/** Watches names while a command runs. */
export interface NameWatch {
  /** Aborts as soon as one of the names has changed. */
  readonly blocked: AbortSignal;
  /** Checks all names a last time and stops watching. Returns the names that had changed. */
  finish(): readonly string[];
}

/**
 * Watches names that no command may create or replace. What appears there is renamed at once, so
 * that no other program uses it, and kept for the user.
 */
export function watchNames(names: readonly WatchedName[]): NameWatch {
  const controller = new AbortController();
  const changed = new Set<string>();
  const check = (name: WatchedName) => {
    if (isUnchanged(name)) return;
    restore(name);
    changed.add(name.path);
    controller.abort();
  };
  const folders = Map.groupBy(names, ({ path }) => dirname(path));
  const watchers = [...folders].flatMap(([folder, inside]) => {
    const watcher = watchFolder(folder, (found) => {
      for (const name of inside) if (found === null || found === basename(name.path)) check(name);
    });
    return watcher ?? [];
  });
  return {
    blocked: controller.signal,
    finish() {
      for (const watcher of watchers) watcher.close();
      for (const name of names) check(name);
      return [...changed];
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
