import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { isInside } from '../../workspace/match-path.ts';

/** The mounts of this process. Several of them can show the same files at different paths. */
export interface MountTable {
  /**
   * Returns the further paths at which mounts show a file or folder, or a part of a folder. The path must be a real
   * path. The further paths may not exist, and they are not inside of the path.
   */
  otherPaths(path: string): readonly string[];
  /** Returns the folders below a folder on which a file system is mounted. */
  pointsBelow(folder: string): readonly string[];
}

/** Maximum number of further paths of one path. */
const maxPaths = 100;

/** The text from which the last table was made. Reading takes about 40 µs, and mounts rarely change. */
let last: { readonly text: string; readonly table: MountTable } | undefined;

/** Returns the current mounts. The table is empty on systems without `/proc`, because they have no such mounts. */
export function currentMounts(): MountTable {
  const text = process.platform === 'linux' ? readMounts() : '';
  if (last?.text !== text) last = { text, table: parseMountTable(text) };
  return last.table;
}

function readMounts(): string {
  const file = '/proc/self/mountinfo';
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadableMounts(file, error);
  }
}

function unreadableMounts(path: string, cause: unknown): SandboxError {
  const message = `Cannot hide files from the command: the mounts of the system cannot be read from ${path}`;
  return new SandboxError('cannot_confine', message, { path }, { cause });
}

/** The sandbox replaces these folders, so nothing of the host is visible there. */
const replaced = ['/proc', '/dev', '/tmp', '/run', '/var/run', '/var/tmp'];

/** Returns the second places of paths that a command may see. They may not exist. */
export function secondPlaces(
  paths: readonly string[],
  writable: readonly string[],
  mounts: MountTable = currentMounts(),
): readonly string[] {
  const isVisible = (path: string) =>
    writable.some((folder) => isInside(folder, path)) ||
    !replaced.some((folder) => isInside(folder, path));
  return [...new Set(paths.flatMap((path) => mounts.otherPaths(path)))].filter(isVisible);
}

interface Mount {
  readonly id: string;
  readonly parent: string;
  readonly point: string;
  /** Mounts with the same tree show folders of the same file system. */
  readonly tree: string;
  /** The folder of the tree that the mount shows. */
  readonly root: string;
  /** The folders whose files the file system shows too, if it combines or passes on other folders. */
  readonly layers: readonly string[];
  /** The folder of the layers that the mount shows. */
  readonly ofLayers: string;
}

/** Reads a table of mounts in the format of `/proc/self/mountinfo`. */
export function parseMountTable(
  text: string,
  exists: (folder: string) => boolean = existsSync,
): MountTable {
  const mounts = text.split('\n').flatMap((line) => parseMount(line, exists));
  const mountAt = mountFinder(mounts);
  const points = new FolderIndex<string>();
  const roots = new FolderIndex<Mount>();
  const layers = new FolderIndex<readonly [mount: Mount, layer: string]>();
  const trees = new Set<string>();
  for (const mount of mounts) {
    trees.add(mount.tree);
    points.add(mount.point, mount.point);
    roots.add(mount.root, mount);
    for (const layer of mount.layers) layers.add(layer, [mount, layer]);
  }
  const isShared = trees.size < mounts.length || !layers.isEmpty;
  /** Returns the paths that the mounts of one path lead to directly. */
  const neighbours = (path: string): readonly string[] => {
    const mount = mountAt(path);
    if (mount === undefined) return [];
    const inMount = restBelow(mount.point, path) ?? '';
    const inTree = join(mount.root, inMount);
    const ofTree = roots
      .around(inTree)
      .filter((other) => other !== mount && other.tree === mount.tree)
      .flatMap((other) => shownAt(other, restBelow(other.root, inTree)));
    const ofLayers = layers.around(path).flatMap(([other, layer]) => {
      const below = restBelow(layer, path);
      const rest = below === undefined ? '' : restBelow(other.ofLayers, `/${below}`);
      const isPart = below !== undefined && restBelow(`/${below}`, other.ofLayers) !== undefined;
      return rest === undefined && !isPart ? [] : shownAt(other, rest);
    });
    // A layer inside of its own mount is the path of a different system, such as the host of a container.
    const own = mount.layers.filter((layer) => mountAt(layer) !== mount);
    return [...ofTree, ...ofLayers, ...own.map((layer) => join(layer, mount.ofLayers, inMount))];
  };
  /** Returns a path below a mount. Returns the mount itself if it shows only a part of a path. */
  const shownAt = (mount: Mount, rest = ''): readonly string[] => {
    const path = join(mount.point, rest);
    // A different mount can cover the path.
    return mountAt(path) === mount ? [path] : [];
  };
  const known = new Map<string, readonly string[]>();
  const otherPaths = (path: string): readonly string[] => {
    const found = new Set([path]);
    // A further file system can be mounted below the path, and at a further place too.
    const start = [path, ...points.below(path)];
    for (const at of start) found.add(at);
    for (const at of found) {
      if (found.size - start.length > maxPaths) throw tooManyPaths(path);
      for (const next of neighbours(at)) found.add(next);
    }
    return [...found].filter((at) => restBelow(path, at) === undefined);
  };
  return {
    pointsBelow: (folder) => points.below(folder),
    otherPaths(path) {
      if (!isShared) return [];
      const others = known.get(path) ?? otherPaths(path);
      if (known.size >= maxKnown) known.clear();
      known.set(path, others);
      return others;
    },
  };
}

/** Finds values by folders. */
class FolderIndex<Value> {
  readonly #at = new Map<string, Value[]>();
  readonly #below = new Map<string, Value[]>();

  get isEmpty(): boolean {
    return this.#at.size === 0;
  }

  add(folder: string, value: Value): void {
    addTo(this.#at, folder, value);
    for (const above of foldersAbove(folder)) addTo(this.#below, above, value);
  }

  /** Returns the values of the folders below a path. */
  below(path: string): readonly Value[] {
    return this.#below.get(path) ?? [];
  }

  /** Returns the values of a path, of the folders above it and of the folders below it. */
  around(path: string): readonly Value[] {
    const above = [path, ...foldersAbove(path)].flatMap((folder) => this.#at.get(folder) ?? []);
    return [...above, ...this.below(path)];
  }
}

function addTo<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

function foldersAbove(path: string): readonly string[] {
  const folders: string[] = [];
  for (let at = path, above = dirname(at); above !== at; above = dirname(at)) {
    folders.push(above);
    at = above;
  }
  return folders;
}

/** Maximum number of paths whose further paths are kept. */
const maxKnown = 10_000;

function tooManyPaths(path: string): SandboxError {
  const why = `mounts of its file system show it at more than ${maxPaths} further paths`;
  const advice = 'Unmount some of them, or switch the sandbox off';
  return new SandboxError('cannot_confine', `Cannot hide ${path}: ${why}. ${advice}`, { path });
}

/** Returns a function that finds the mount to which a real path belongs. It enters the mounts as the kernel does. */
function mountFinder(mounts: readonly Mount[]): (path: string) => Mount | undefined {
  const keyOf = (parent: string, point: string) => `${parent} ${point}`;
  const ids = new Set(mounts.map(({ id }) => id));
  const children = new Map(mounts.map((mount) => [keyOf(mount.parent, mount.point), mount]));
  const first = mounts.find(({ parent, id }) => parent === id || !ids.has(parent));
  const entered = (above: Mount | undefined, point: string): Mount | undefined => {
    let at = above;
    for (let next = at; next !== undefined; ) {
      at = next;
      next = children.get(keyOf(at.id, point));
      if (next === at) break;
    }
    return at;
  };
  const found = new Map<string, Mount | undefined>();
  const mountAt = (path: string): Mount | undefined => {
    if (found.has(path)) return found.get(path);
    const parent = dirname(path);
    const mount = entered(parent === path ? first : mountAt(parent), path);
    if (found.size >= maxKnown) found.clear();
    found.set(path, mount);
    return mount;
  };
  return mountAt;
}

/** Returns the part of a path below a folder. It is empty for the folder itself, and undefined for other paths. */
function restBelow(folder: string, path: string): string | undefined {
  if (folder === path) return '';
  const start = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(start) ? path.slice(start.length) : undefined;
}

/**
 * The types of file systems that get a new device for each mount, although the mounts show the same files. The
 * source tells which files these are, for example `server:/home`. NFS tells the folder only in the source.
 */
const sharedTypes =
  /^(?:9p|drvfs|virtiofs|nfs4?|cifs|smb3|smbfs|ceph|vboxsf|prl_fs|fuse(?:blk|\..+)?)$/;

function parseMount(line: string, exists: (folder: string) => boolean): readonly Mount[] {
  const [place = '', origin = ''] = line.split(' - ');
  const [id, parent, device = '', root = '', point] = place.split(' ').map(unescaped);
  const [type = '', source = '', options = ''] = origin.split(' ').map(unescaped);
  if (id === undefined || parent === undefined || point === undefined) return [];
  // The kernel marks a mounted folder that was removed or replaced.
  const shown = root.replace(/\/\/deleted$/, '');
  const isShared = sharedTypes.test(type);
  const from = isShared ? resolve('/', join(source.replaceAll('\\', '/'), shown)) : shown;
  const layers = layersOf(type, source, options).filter(exists);
  const tree = isShared ? type : device;
  return [{ id, parent, point, tree, root: from, layers, ofLayers: shown }];
}

/** Replaces the escapes of `/proc/PID/mountinfo`, such as `\040`. */
export function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 8)),
  );
}

/**
 * Returns the folders that an overlay combines, or that a program such as bindfs or mergerfs passes on. The program
 * that mounted the file system chose these paths, so they can be wrong here.
 */
function layersOf(type: string, source: string, options: string): readonly string[] {
  const lists =
    type === 'overlay' ? overlayLists(options) : type.startsWith('fuse.') ? [source] : [];
  return lists
    .flatMap((list) => splitAt(list, ':'))
    .map((folder) => folder.replaceAll(/\\(.)/g, '$1'))
    .filter((folder) => /^\/(?!dev\/)/.test(folder))
    .map((folder) => resolve(folder));
}

function overlayLists(options: string): readonly string[] {
  const pattern = /^(?:lowerdir|upperdir|datadir)\+?=(.+)/s;
  return splitAt(options, ',').flatMap((option) => pattern.exec(option)?.[1] ?? []);
}

/** Splits a text at a character that has no backslash before it. */
function splitAt(text: string, separator: ',' | ':'): readonly string[] {
  return text.match(separator === ',' ? /(?:\\.|[^\\,])+/gs : /(?:\\.|[^\\:])+/gs) ?? [];
}
