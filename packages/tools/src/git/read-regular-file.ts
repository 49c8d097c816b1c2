import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
} from 'node:fs';
import { lstat, open } from 'node:fs/promises';

// Without O_NONBLOCK, opening a FIFO blocks a thread, and even `process.exit` would wait for that thread.
// O_NOFOLLOW is needed because a link in a repository can lead to any file.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a file that an untrusted person may have created. Returns undefined if the file does not exist, is
 * not a regular file, has more than `maxBytes`, or cannot be read. It never blocks, and it does not follow a
 * link in the last segment of the path.
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer | undefined> {
  // Opening a device can have side effects, so the kind of file is checked before and after opening.
  const found = await lstat(path).catch(() => undefined);
  if (!isReadable(found, maxBytes)) return undefined;
  const file = await open(path, flags).catch(() => undefined);
  try {
    const stats = await file?.stat();
    if (file === undefined || !isReadable(stats, maxBytes)) return undefined;
    const bytes = Buffer.alloc(stats.size + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = (await file.read(bytes, length, bytes.length - length, length)).bytesRead;
    // If the lengths differ, a different process is changing the file.
    return length === stats.size ? bytes.subarray(0, length) : undefined;
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

/** The synchronous form of `readRegularFile`, for code that must not be interrupted. */
export function readRegularFileSync(path: string, maxBytes: number): Buffer | undefined {
  let file: number | undefined;
  try {
    if (!isReadable(lstatSync(path), maxBytes)) return undefined;
    file = openSync(path, flags);
    const stats = fstatSync(file);
    if (!isReadable(stats, maxBytes)) return undefined;
    const bytes = Buffer.alloc(stats.size + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, length);
    return length === stats.size ? bytes.subarray(0, length) : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function isReadable(stats: Stats | undefined, maxBytes: number): stats is Stats {
  return stats?.isFile() === true && stats.size <= maxBytes;
}
