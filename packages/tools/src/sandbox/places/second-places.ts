import { isBelow, isInside } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';
import type { GuardedPath } from '../protected-paths.ts';
import { currentMounts, type MountTable, secondPlaces } from './mount-table.ts';

/** The paths that a command must not use as it could without a sandbox. */
interface GuardedPlaces {
  readonly guarded: readonly GuardedPath[];
  /** Further paths to hide. */
  readonly hide: readonly string[];
}

/**
 * Adds the second places of guarded paths. A file system can be mounted at several places: WSL 2 mounts the whole
 * root file system also at `/mnt/wslg/distro`. A guarded path is then visible at all these places. `writable`
 * contains the folders that the command may change.
 */
export function withSecondPlaces(
  { guarded, hide }: GuardedPlaces,
  writable: readonly string[],
  mounts: MountTable = currentMounts(),
): GuardedPlaces {
  const known = new Set([...guarded.map(({ path }) => path), ...hide]);
  const added = (given: string) =>
    secondPlaces([given], writable, mounts).flatMap((path) => {
      const entry = known.has(path) ? undefined : entryOf(path);
      if (entry === undefined || entry.isSymbolicLink()) return [];
      return [{ path, isFolder: entry.isDirectory() }];
    });
  const more = guarded.flatMap(({ path, guard }): readonly GuardedPath[] => {
    if (guard === 'pinned') return [];
    const places = added(path).map((place) => ({ ...place, guard }));
    // All other places are read-only anyway.
    if (guard === 'hidden') return places;
    return places.filter((place) => writable.some((folder) => isInside(folder, place.path)));
  });
  const all = [...guarded, ...more].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const isNew = new Set(more);
  // A path below a hidden folder does not exist for the command.
  const isCovered = (path: string, by: readonly GuardedPath[]) =>
    by.some(
      (one) =>
        one.guard === 'hidden' &&
        isBelow(one.path, path) &&
        !writable.some((folder) => isInside(one.path, folder) && isInside(folder, path)),
    );
  // The command needs the folders that it may change, even if they show a part of a denied folder.
  const isNeeded = (path: string) => writable.some((folder) => isInside(path, folder));
  const hidden = new Set(
    hide.flatMap((path) =>
      added(path).flatMap((place) => (isNeeded(place.path) ? [] : place.path)),
    ),
  );
  return {
    guarded: all.filter((one) => !isCovered(one.path, isNew.has(one) ? all : more)),
    hide: [
      ...hide,
      ...[...hidden].filter((path) => ![...hidden].some((one) => isBelow(one, path))),
    ],
  };
}
