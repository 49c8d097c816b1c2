import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SandboxProfile, SandboxRequest } from '../contract/sandbox.ts';
import { isBelow, isInside } from '../workspace/match-path.ts';
import { type CommandLimits, withLimits } from './command-limits.ts';
import { systemFolders, systemSettings } from './places/closed-view.ts';
import type { DiskPlace, PlannedMount } from './places/mount-check.ts';
import type { GuardedPath } from './protected-paths.ts';

/** The files that one command may see and change. All paths are resolved. */
export interface BubblewrapView {
  readonly view: SandboxProfile | 'closed';
  readonly root: string;
  readonly network: boolean;
  /** A folder of the host that is mounted as `/tmp`. */
  readonly temporary: string;
  /** An empty file of the host. It is mounted over hidden files. */
  readonly emptyFile: string;
  /** More folders and files that the command may change. */
  readonly writable: readonly string[];
  /** The places of `root` and `writable`. */
  readonly disk: ReadonlyMap<string, DiskPlace>;
  readonly guarded: readonly GuardedPath[];
  /** Absolute paths to hide from this command only. */
  readonly hide: readonly string[];
  /** Absolute paths of folders that this command must not rename. */
  readonly pin: readonly string[];
  /** Absolute paths below a replaced folder that this command can read. */
  readonly show: readonly string[];
  /** The `PATH` of the command. */
  readonly path: string;
  readonly limits: CommandLimits;
}

/** The arguments of bubblewrap, and the mounts that they create in the folders that a command may change. */
interface BubblewrapArgs {
  readonly args: readonly string[];
  readonly mounts: readonly PlannedMount[];
}

/**
 * Returns the arguments of bubblewrap. Later mounts cover earlier mounts. The order is therefore the disk,
 * hidden places, the workspace, and guarded places in the workspace. The seccomp filter has file descriptor
 * 3. Bubblewrap writes the id of its first process to file descriptor 4. The command starts after `startLine` was written
 * to file descriptor 5.
 */
export function bubblewrapArgs(
  view: BubblewrapView,
  command: SandboxRequest['command'],
): BubblewrapArgs {
  const { root, network, limits } = view;
  const inside = view.guarded.filter(({ path }) => roots(view).some((one) => isBelow(one, path)));
  const outside = view.guarded.filter((one) => !inside.includes(one));
  const pins = pinned(view);
  const hide = visible(view, view.hide);
  const args = [
    ...[
      '--unshare-user',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
    ],
    ...(network ? [] : ['--unshare-net']),
    ...[
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
      '--seccomp',
      '3',
      '--info-fd',
      '4',
    ],
    ...(view.view === 'closed' ? systemOnly() : ['--ro-bind', '/', '/']),
    // /proc is read-only, because a root process could change kernel settings there.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    // A command without an approval must not leave files for the next command.
    ...(view.view === 'closed' ? ['--tmpfs', '/tmp'] : ['--bind', view.temporary, '/tmp']),
    ...(view.view === 'closed' ? [] : runtimeFolders(view)),
    ...view.show.flatMap((path) => ['--ro-bind-try', path, path]),
    ...outside.flatMap((one) => guardArgs(one, view)),
    ...roots(view).flatMap((folder) => [bindOf(view), folder, folder]),
    ...inside.flatMap((one) => guardArgs(one, view)),
    ...pins.flatMap((path) => [bindOf(view), path, path]),
    // A hidden file is replaced by /dev/null. The mount allows no devices, so opening the file fails with
    // "Permission denied".
    ...hide.flatMap((path) => hideArgs(path)),
    ...['--chdir', root, '--', ...withLimits(command, limits, 5)],
  ];
  const isInRoots = (path: string) => roots(view).some((one) => isBelow(one, path));
  const mounts: readonly PlannedMount[] = [
    ...[...view.disk]
      .filter(([path]) => roots(view).includes(path))
      .map(([path, shows]) => ({ path, shows })),
    ...inside
      .filter(({ path }) => exists(view, path))
      .map(
        ({ path, guard }) => ({ path, shows: guard === 'hidden' ? 'other' : 'itself' }) as const,
      ),
    ...pins.map((path) => ({ path, shows: 'itself' }) as const),
    ...hide.filter(isInRoots).map((path) => ({ path, shows: 'other' }) as const),
  ];
  return { args, mounts };
}

function roots({ root, writable, view }: BubblewrapView): readonly string[] {
  return view === 'closed' ? [root] : [...writable, root];
}

/**
 * Returns the folders to pin. A mount would cover the guarded places below it, and would make a read-only place
 * writable again. A folder with guarded places is already pinned.
 */
function pinned(view: BubblewrapView): readonly string[] {
  const isGuarded = (folder: string) =>
    view.guarded.some(
      ({ path, guard }) =>
        path === folder ||
        isBelow(folder, path) ||
        (guard === 'read-only' && isBelow(path, folder)),
    );
  const folders = [...new Set([...view.pin, ...pinnedElsewhere(view)])].toSorted();
  return visible(view, folders).filter((folder) => !isGuarded(folder));
}

/**
 * Returns the folders above hidden paths in the further folders that the command may change. A mount would cover
 * the workspace if a folder contained it.
 */
function pinnedElsewhere({ view, root, writable, hide }: BubblewrapView): readonly string[] {
  if (view === 'closed') return [];
  const above = (base: string, path: string): readonly string[] => {
    const folder = dirname(path);
    return isBelow(base, folder) ? [folder, ...above(base, folder)] : [];
  };
  const outside = hide.filter((path) => !isInside(root, path));
  const all = writable.flatMap((base) => outside.flatMap((path) => above(base, path)));
  return all.filter((folder) => ![root, ...writable].some((one) => isInside(folder, one)));
}

/** Returns the paths that are not inside of a folder that is already hidden. In a hidden folder, no path exists. */
function visible(view: BubblewrapView, paths: readonly string[]): readonly string[] {
  const holdsRoot = (folder: string) => roots(view).some((root) => isBelow(folder, root));
  const hidden = view.guarded.filter(({ guard, path }) => guard === 'hidden' && !holdsRoot(path));
  return paths.filter(
    (path) =>
      exists(view, path) && !hidden.some((one) => one.path === path || isBelow(one.path, path)),
  );
}

function bindOf({ view }: BubblewrapView): string {
  return view === 'workspace' ? '--bind' : '--ro-bind';
}

/**
 * Returns the arguments that mount the programs of the system, and the files in `/etc` that these programs
 * need.
 */
function systemOnly(): readonly string[] {
  return [...systemFolders, ...systemSettings].flatMap((path) => {
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry === undefined) return [];
    return entry.isSymbolicLink()
      ? ['--symlink', readlinkSync(path), path]
      : ['--ro-bind', path, path];
  });
}

/**
 * Returns mounts that replace the folders with sockets of running services. They keep the programs below
 * `/run` and the addresses of the name servers.
 */
function runtimeFolders({ network, path }: BubblewrapView): readonly string[] {
  const masked = ['/run', '/var/run', '/var/tmp'].filter((folder) => isRealFolder(folder));
  const isMasked = (one: string) => masked.some((folder) => isBelow(folder, one));
  const programs = path.split(':').filter((folder) => isMasked(folder) && existsSync(folder));
  const servers = network ? realPathOf('/etc/resolv.conf') : undefined;
  const kept = [...programs, ...(servers !== undefined && isMasked(servers) ? [servers] : [])];
  return [
    ...masked.flatMap((folder) => ['--tmpfs', folder]),
    ...kept.flatMap((one) => ['--ro-bind', one, one]),
  ];
}

function isRealFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function guardArgs(
  { path, guard, isFolder }: GuardedPath,
  view: BubblewrapView,
): readonly string[] {
  if (!exists(view, path)) return [];
  switch (guard) {
    case 'pinned':
      return [bindOf(view), path, path];
    case 'read-only':
      return ['--ro-bind', path, path];
    case 'hidden': {
      if (!isFolder) return ['--ro-bind', view.emptyFile, path];
      const holdsRoot = roots(view).some((root) => isInside(path, root));
      // More places are mounted below this folder later, so it must stay writable until then.
      if (holdsRoot) return ['--tmpfs', path];
      return ['--perms', '0000', '--tmpfs', path, '--remount-ro', path];
    }
  }
}

/** True if a view contains a path. The closed view contains only the workspace and places of the system. */
function exists({ view, root }: BubblewrapView, path: string): boolean {
  const places = [root, ...systemFolders, ...systemSettings];
  return view !== 'closed' || places.some((place) => isInside(place, path));
}

function hideArgs(path: string): readonly string[] {
  if (!isRealFolder(path)) return ['--ro-bind', '/dev/null', path];
  return ['--perms', '0000', '--tmpfs', path, '--remount-ro', path];
}

/** Returns the environment inside the sandbox. Caches and temporary files are in the private `/tmp`. */
export function sandboxEnv(env: Readonly<Record<string, string>>): Record<string, string> {
  return {
    ...env,
    TMPDIR: '/tmp',
    XDG_CACHE_HOME: join('/tmp', '.cache'),
    npm_config_cache: join('/tmp', '.npm'),
  };
}

/** Matches variables that make a program load additional code or change its behaviour at its start. */
const loaderVariables = /^(?:LD_|MALLOC_)|^(?:GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH)$/;

/**
 * Separates the variables that bubblewrap itself must not get. Arguments of bubblewrap set them only inside
 * the sandbox. All other variables are not passed as arguments, because every user of the machine can see the
 * arguments of a program.
 */
export function splitEnv(
  env: Readonly<Record<string, string>>,
): Record<'outer' | 'inner', Readonly<Record<string, string>>> {
  const entries = Object.entries(env);
  const isInner = ([name]: readonly [string, string]) => loaderVariables.test(name);
  return {
    outer: Object.fromEntries(entries.filter((entry) => !isInner(entry))),
    inner: Object.fromEntries(entries.filter(isInner)),
  };
}
