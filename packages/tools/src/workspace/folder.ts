import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AgentError } from '@millrace/agent';
import { errorCodeOf, fromSystemError, WorkspaceError } from '../contract/workspace-error.ts';

/**
 * An open folder. It stays the same folder even if a different folder or a link replaces its path. Node.js
 * has no openat(), but `/proc/<pid>/fd/<n>/<name>` has the same effect on Linux: the kernel starts at the open
 * folder. Replacing a folder with a link therefore cannot redirect the access.
 */
export interface Folder {
  /**
   * Returns a path to an entry, or to the folder itself. The name is a single segment, never `..`.
   */
  pathOf(name?: string): string;
  /**
   * True if the folder is an open handle. An entry that was opened through `pathOf` then certainly belongs to
   * this folder, and `check` does nothing.
   */
  readonly isHandle: boolean;
  /** Opens a subfolder. It fails with ENOTDIR or ELOOP if the subfolder is a link. */
  enter(name: string): Promise<Folder>;
  /**
   * Opens a subfolder like `enter`, but blocks the thread. This takes a fraction of the time. Use it only in
   * a worker thread. Undefined if the folder is not an open handle.
   */
  readonly enterNow?: ((name: string) => OpenFolder) | undefined;
  /** Throws if the file that was opened through `pathOf` may not be an entry of this folder. */
  check(name: string, opened: FileHandle): Promise<void>;
  close(): Promise<void>;
}

/** An open folder that can also be closed synchronously. */
interface OpenFolder extends Folder {
  closeNow(): void;
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Returns a function that opens the root, by handle if the system supports it. `root` must be a real path.
 * Opening fails if a link has replaced a folder on that path.
 */
export function folderOpener(root: string): () => Promise<Folder> {
  const handles = handlesOf(root);
  return async () => {
    try {
      return handles === undefined ? await folderByName(root) : await rootByHandle(root, handles);
    } catch (error) {
      throw rootError(root, error);
    }
  };
}

async function rootByHandle(root: string, handles: string): Promise<Folder> {
  const handle = await open(root, folderFlags);
  try {
    const path = await readlink(`${handles}/${handle.fd}`);
    if (path !== root && isReachable(path)) throw movedError();
    return folderByHandle(handle, handles);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function rootError(root: string, error: unknown): unknown {
  if (errorCodeOf(error) === 'ESTALE')
    return new WorkspaceError('changed', root, 'another process replaced a folder on its path', {
      cause: error,
    });
  if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCodeOf(error)))
    return fromSystemError(root, error);
  return new WorkspaceError('vanished', root, 'the folder of the workspace is gone', {
    cause: error,
  });
}

/**
 * Returns the real path of a folder. On Linux, it opens the folder and asks the kernel for its path. Throws
 * if the path is not a readable folder.
 */
function realFolderPath(given: string): string {
  const root = realpathSync.native(given);
  const handles = handlesOf(root);
  if (handles === undefined) {
    if (!statSync(root).isDirectory()) throw notFolderError();
    return root;
  }
  const fd = openSync(root, folderFlags);
  try {
    const path = readlinkSync(`${handles}/${fd}`);
    return isReachable(path) ? path : root;
  } finally {
    closeSync(fd);
  }
}

/**
 * True if the kernel returns an ordinary path. For a folder outside the root of this process, the kernel
 * returns a different form.
 */
function isReachable(path: string): boolean {
  return path.startsWith('/');
}

/**
 * Returns the folder of `/proc` that lists the open handles of this process. Returns undefined if folders
 * cannot be opened through it. `/proc` may be missing, or a process that has changed its user may not be able
 * to read it. The path contains the process id, because a search opens many files and the kernel would follow
 * the link `/proc/self` for each of them.
 */
function handlesOf(root: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const fd = openSync(root, folderFlags);
  try {
    // The process id in this link is right even if `/proc` belongs to a different namespace.
    const handles = `/proc/${readlinkSync('/proc/self')}/fd`;
    const [byHandle, byProc] = [fstatSync(fd), lstatSync(`${handles}/${fd}/.`)];
    return byHandle.ino === byProc.ino && byHandle.dev === byProc.dev ? handles : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function folderByHandle(handle: FileHandle, handles: string): Folder {
  const pathOf = (name = '.') => `${handles}/${handle.fd}/${name}`;
  return { ...openedFolder(pathOf, handles), close: () => handle.close() };
}

function folderByDescriptor(fd: number, handles: string): OpenFolder {
  const self = `${handles}/${fd}/`;
  const closeNow = () => closeSync(fd);
  const folder = openedFolder((name = '.') => self + name, handles);
  return { ...folder, close: async () => closeNow(), closeNow };
}

function openedFolder(pathOf: Folder['pathOf'], handles: string): Omit<Folder, 'close'> {
  return {
    pathOf,
    isHandle: true,
    enter: async (name) => folderByHandle(await open(pathOf(name), folderFlags), handles),
    enterNow: (name) => folderByDescriptor(openSync(pathOf(name), folderFlags), handles),
    check: async () => {},
  };
}

/**
 * Opens a folder by its real path, for systems without `/proc/self/fd` (macOS, Windows). It compares an
 * opened file with the folder entries before any byte is read. Node.js allows no better protection. A process
 * can still replace and restore folders at exactly the right moments. It could then list a folder outside, or
 * create or replace a file there.
 */
export async function folderByName(real: string): Promise<Folder> {
  const pathOf = (name = '.') => join(real, name);
  const checkSelf = async () => {
    if (!(await lstat(real)).isDirectory() || (await realpath(real)) !== real)
      throw notFolderError();
  };
  await checkSelf();
  return {
    pathOf,
    isHandle: false,
    enter: (name) => folderByName(pathOf(name)),
    check: async (name, opened) => {
      const { ino, dev } = await opened.stat();
      // The check is repeated, because a single replacement of the folder cannot pass several checks.
      for (let look = 0; look < 3; look++) {
        const there = await lstat(pathOf(name));
        if (there.ino !== ino || there.dev !== dev) throw movedError();
        await checkSelf();
      }
    },
    close: async () => {},
  };
}

const notFolderError = () => Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
const movedError = () => Object.assign(new Error('moved'), { code: 'ESTALE' });

/** Returns the real path of the root of a workspace. Throws if it is not a readable folder. */
export function realRoot(given: string): string {
  try {
    return realFolderPath(given);
  } catch (error) {
    throw invalidRootError(given, error);
  }
}

function invalidRootError(given: string, cause?: unknown): AgentError {
  const message = `Cannot create a workspace in ${given}: it is not a folder that can be read. Create it first`;
  return new AgentError('bad_option', message, { path: given }, { cause });
}

/** Opens a folder also without permissions for it. Node has no name for this flag of Linux, and other systems have none. */
export const pathOnly: number = process.platform === 'linux' ? 0o10_000_000 : 0;

/**
 * Opens a folder by its real path, and passes a path of the open folder to `use`. A command may replace a folder on
 * the path by a link at any time. The passed path still leads to the opened folder, and the function throws `ESTALE` if
 * this folder is not the folder of the real path. On systems other than Linux, the function passes the real path.
 *
 * @example inRealFolder('/srv/shop', (folder) => readdirSync(folder));
 */
export function inRealFolder<Result>(folder: string, use: (folder: string) => Result): Result {
  if (process.platform !== 'linux') return use(folder);
  return atRealPath(folder, use, constants.O_DIRECTORY);
}

/** Like `inRealFolder`, but also for a file. Only for Linux. */
export function atRealPath<Result>(
  path: string,
  use: (path: string) => Result,
  flags: number = 0,
): Result {
  const fd = openSync(path, pathOnly | constants.O_NOFOLLOW | flags);
  try {
    const opened = `/proc/self/fd/${fd}`;
    if (fstatSync(fd).isSymbolicLink() || readlinkSync(opened) !== path)
      throw replacedFolderError(path);
    return use(opened);
  } finally {
    closeSync(fd);
  }
}

/**
 * Passes a path of an entry to `use`. The path leads through the open folder of the entry. See `inRealFolder`. `use`
 * must not follow a link in the entry itself.
 */
export function atRealEntry<Result>(path: string, use: (entry: string) => Result): Result {
  return inRealFolder(dirname(path), (folder) => use(join(folder, basename(path))));
}

function replacedFolderError(folder: string): Error {
  const message = `Cannot use ${folder}: another process replaced a folder on its path`;
  return Object.assign(new Error(message), { code: 'ESTALE' });
}
