import { lstatSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import type { GuardedPath } from '../protected-paths.ts';

/** A mount, as in `/proc/self/mountinfo`. */
interface Mount {
  readonly device: string;
  /** The folder of the file system that is mounted. */
  readonly root: string;
  /** The place where it is mounted. */
  readonly point: string;
}

/** The paths that a command must not use as it could without a sandbox. */
interface GuardedPlaces {
  readonly guarded: readonly GuardedPath[];
  /** Further paths to hide. */
  readonly hide: readonly string[];
}

/** The sandbox replaces these folders, so nothing of the host is visible there. */
const replaced = ['/proc', '/dev', '/tmp', '/run', '/var/run', '/var/tmp'];

/**
 * Adds the second places of guarded paths. A file system can be mounted at several places: WSL 2 mounts the whole
 * root file system also at `/mnt/wslg/distro`. A guarded path is then visible at all these places. `writable`
 * contains the folders that the command may change.
 */
export function withSecondPlaces(
  { guarded, hide }: GuardedPlaces,
  writable: readonly string[],
  mountInfo: () => string = readMountInfo,
): GuardedPlaces {
  const secondPlaces = findSecondPlaces(mountInfo());
  if (secondPlaces === undefined) return { guarded, hide };
  const isVisible = (path: string) =>
    writable.some((folder) => isInside(folder, path)) ||
    !replaced.some((folder) => isInside(folder, path));
  const known = new Set([...guarded.map(({ path }) => path), ...hide]);
  const added = (path: string) =>
    secondPlaces(path).filter((place) => isVisible(place.path) && !known.has(place.path));
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
  const hidden = new Set(hide.flatMap((path) => added(path).map((place) => place.path)));
  return {
    guarded: all.filter((one) => !isCovered(one.path, isNew.has(one) ? all : more)),
    hide: [
      ...hide,
      ...[...hidden].filter((path) => ![...hidden].some((one) => isBelow(one, path))),
    ],
  };
}

type SecondPlace = Pick<GuardedPath, 'path' | 'isFolder'>;

/**
 * Returns a function that finds the other places of a path. Returns undefined if no file system is mounted at several
 * places.
 */
function findSecondPlaces(text: string): ((path: string) => readonly SecondPlace[]) | undefined {
  const mounts = parseMounts(text);
  const byDevice = Map.groupBy(mounts, ({ device }) => device);
  const several = [...byDevice.values()].filter((all) => all.length > 1).flat();
  if (several.length === 0) return undefined;
  // A later mount covers an earlier mount at the same place.
  const atPoint = new Map(mounts.map((mount) => [mount.point, mount]));
  const mountOf = (path: string): Mount | undefined => {
    for (let at = path; ; at = dirname(at)) {
      const mount = atPoint.get(at);
      if (mount !== undefined || at === dirname(at)) return mount;
    }
  };
  return (path) => {
    const own = mountOf(path);
    if (own === undefined) return [];
    // The place in the file system, and all file systems that are mounted below the path.
    const sources = [
      { ...own, root: join(own.root, relative(own.point, path)) },
      ...several.filter(({ point }) => isBelow(path, point)),
    ];
    return several.flatMap((mount) =>
      sources.flatMap(({ device, root }): readonly SecondPlace[] => {
        if (mount.device !== device) return [];
        const isAbove = isInside(mount.root, root);
        if (!isAbove && !isBelow(root, mount.root)) return [];
        const place = isAbove ? join(mount.point, relative(mount.root, root)) : mount.point;
        // Another mount can cover the place.
        if (isInside(path, place) || mountOf(place) !== mount) return [];
        const entry = lstatSync(place, { throwIfNoEntry: false });
        if (entry === undefined || entry.isSymbolicLink()) return [];
        return [{ path: place, isFolder: entry.isDirectory() }];
      }),
    );
  };
}

function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, , device, root, point] = line.split(' ');
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ device, root: unescaped(root), point: unescaped(point) }];
  });
}

/** Spaces and other characters are octal numbers in the list of mounts. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

function readMountInfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}
