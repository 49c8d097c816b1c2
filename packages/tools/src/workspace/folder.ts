import { closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf, fromSystemError, WorkspaceError } from '../contract/workspace-error.ts';

/**
 * A folder that stays the same one while it is open, whatever its path comes to name meanwhile.
 * Node has no openat(); on Linux `/proc/self/fd/<n>/<name>` is one: the kernel goes on from the open
 * folder itself, so nobody who swaps a folder for a link can lead us elsewhere.
 */
export interface Folder {
  /** A path to an entry, or to the folder itself. The name is a single one, never `..`. */
  pathOf(name?: string): string;
  /** A folder in it. Fails with ENOTDIR or ELOOP on a link. */
  enter(name: string): Promise<Folder>;
  /** Fails where what was opened by `at` may be another thing than the one that is inside. */
  check(name: string, opened: FileHandle): Promise<void>;
  close(): Promise<void>;
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** How the root is opened in this process: by handle where the system can. */
export function folderOpener(root: string): () => Promise<Folder> {
  const usesHandle = canOpenByHandle(root);
  return async () => {
    try {
      return usesHandle ? folderByHandle(await open(root, folderFlags)) : await folderByName(root);
    } catch (error) {
      throw rootError(root, error);
    }
  };
}

function rootError(root: string, error: unknown): unknown {
  if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCodeOf(error)))
    return fromSystemError(root, error);
  return new WorkspaceError('vanished', root, 'the folder of the workspace is gone', {
    cause: error,
  });
}

/** `/proc` may be absent, or closed to a process that has changed its user. */
function canOpenByHandle(root: string): boolean {
  if (process.platform !== 'linux') return false;
  const fd = openSync(root, folderFlags);
  try {
    const [byHandle, byProc] = [fstatSync(fd), lstatSync(`/proc/self/fd/${fd}/.`)];
    return byHandle.ino === byProc.ino && byHandle.dev === byProc.dev;
  } catch {
    return false;
  } finally {
    closeSync(fd);
  }
}

function folderByHandle(handle: FileHandle): Folder {
  const pathOf = (name = '.') => `/proc/self/fd/${handle.fd}/${name}`;
  return {
    pathOf,
    enter: async (name) => folderByHandle(await open(pathOf(name), folderFlags)),
    check: async () => {},
    close: () => handle.close(),
  };
}

/**
 * Where there is no `/proc/self/fd` (macOS, Windows), a folder is its real path, and what was opened is
 * held against what is there before a byte of it is read. That is the best that Node's functions allow:
 * who swaps and swaps back at just the right moments can there have a folder listed, or a file or folder
 * of such a name made or replaced, outside.
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
    enter: (name) => folderByName(pathOf(name)),
    check: async (name, opened) => {
      const { ino, dev } = await opened.stat();
      // Each look is taken apart from the others, so that one swap cannot please them all.
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
