import { closeSync, constants, openSync, readlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Opens a folder also without permissions for it. Node has no name for this flag of Linux. */
const pathOnly = process.platform === 'linux' ? 0o10_000_000 : 0;

/**
 * Opens a folder by its real path, and passes a path of the open folder to `use`. A command may replace a folder on
 * the path by a link at any time. The passed path still leads to the opened folder, and the function throws `ESTALE` if
 * this folder is not the folder of the real path. On systems other than Linux, the function passes the real path.
 *
 * @example inRealFolder('/home/ann/shop', (folder) => readdirSync(folder));
 */
export function inRealFolder<Result>(folder: string, use: (folder: string) => Result): Result {
  if (process.platform !== 'linux') return use(folder);
  const fd = openSync(folder, pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const opened = `/proc/self/fd/${fd}`;
    if (readlinkSync(opened) !== folder) throw replacedError(folder);
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

function replacedError(folder: string): Error {
  const message = `Cannot use ${folder}: another process replaced a folder on its path`;
  return Object.assign(new Error(message), { code: 'ESTALE' });
}
