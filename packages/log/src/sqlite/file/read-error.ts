import { closeSync, openSync, readSync } from 'node:fs';

/** Limits of the scan in bytes and milliseconds. The scan runs only after an error. */
const maxBytes = 2 ** 28;
const maxMs = 1000;
const blockBytes = 2 ** 20;
/**
 * The time for which the result of a scan is kept, and the number of files. Without this cache, every call on
 * a damaged file would fail and start a new scan.
 */
const keepMs = 5000;
const maxKept = 16;

interface Scan {
  readonly at: number;
  readonly errno: string | undefined;
}

const scans = new Map<string, Scan>();

/**
 * Returns the error of the system, such as `EIO`, if the database or its WAL cannot be read. To find out, it
 * reads both files. SQLite itself reports an unreadable page as damaged, without the error of the system.
 * Returns `undefined` if the files can be read.
 */
export function readErrorOf(path: string): string | undefined {
  const now = performance.now();
  const known = scans.get(path);
  if (known !== undefined && now - known.at < keepMs) return known.errno;
  const errno = scan(path, now + maxMs) ?? scan(`${path}-wal`, now + maxMs);
  if (scans.size >= maxKept) scans.clear();
  scans.set(path, { at: now, errno });
  return errno;
}

function scan(path: string, deadline: number): string | undefined {
  const block = Buffer.allocUnsafe(blockBytes);
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    for (let at = 0; at < maxBytes && performance.now() < deadline; ) {
      const length = readSync(fd, block, 0, blockBytes, at);
      if (length === 0) break;
      at += length;
    }
    return undefined;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    // A missing file is not a read error. For example, there is no WAL file after a checkpoint.
    return code === 'ENOENT' ? undefined : code;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
