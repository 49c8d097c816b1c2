import { closeSync, openSync, readSync } from 'node:fs';

/** The scan stops after this many bytes or this many milliseconds. It runs only after an error. */
const maxBytes = 2 ** 28;
const maxMs = 1000;
const blockBytes = 2 ** 20;
/**
 * How long the result of a scan is kept, and for how many files. Every call may fail with a damaged file,
 * and each failure would start a scan.
 */
const keepMs = 5000;
const maxKept = 16;

interface Scan {
  readonly at: number;
  readonly errno: string | undefined;
}

const scans = new Map<string, Scan>();

/**
 * Returns the error of the system, such as `EIO`, if the database or its WAL cannot be read. It reads both
 * files. SQLite reports a page that the disk cannot read as damaged, and does not report the error of the
 * system. Returns `undefined` if the files can be read.
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
    // A file that does not exist is not a read error. There is no WAL after a checkpoint.
    return code === 'ENOENT' ? undefined : code;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
