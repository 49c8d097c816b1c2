import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';

/**
 * The number of bytes at the end of the file that are read. Older bytes are dropped when the file
 * is shortened.
 */
const maxReadBytes = 2 ** 23;
const ownerOnly = 0o600;
// Without O_NONBLOCK, the process would block if a FIFO is at the path of the file.
const nonBlocking = constants.O_NONBLOCK ?? 0;
const readFlags = constants.O_RDONLY | nonBlocking;
const appendFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | nonBlocking;
/**
 * A lock of this age belongs to a process that has ended. Shortening the file takes much less time.
 */
const staleLockMs = 60_000;

interface HistoryLines {
  readonly lines: readonly string[];
  /** True if the file has further lines before these lines. */
  readonly isCut: boolean;
}

/** Reads the last lines of the file. */
export async function readLines(path: string): Promise<HistoryLines> {
  const file = await open(path, readFlags);
  try {
    const { lines, isCut } = await readTail(file);
    return { lines, isCut };
  } finally {
    await file.close();
  }
}

/**
 * Appends a line. Other processes may append at the same time. The line starts with a newline, so
 * that it is not joined to an incomplete line.
 *
 * If a different process replaces the file during the write, the line is written again to the new
 * file.
 */
export async function appendLine(
  path: string,
  line: string,
  openFile: (path: string) => Promise<FileHandle> = openToAppend,
): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    const file = await openFile(path);
    try {
      await file.appendFile(`\n${line}\n`);
      const [written, named] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
      if (named?.ino === written.ino && named.dev === written.dev) return;
    } finally {
      await file.close();
    }
  }
}

function openToAppend(path: string): Promise<FileHandle> {
  return open(path, appendFlags, ownerOnly);
}

/**
 * Replaces the file with a shorter one. It contains the lines that `shorten` returns. Only one
 * process at a time can do this.
 *
 * Other processes can still append lines. Lines in the old file are copied to the new one. A writer
 * that finds a new file writes its line again, so a line can occur twice.
 */
export async function shortenFile(
  path: string,
  shorten: (lines: readonly string[]) => readonly string[],
  nowMs: number,
): Promise<void> {
  const lock = `${path}.lock`;
  if (!(await takeLock(lock, nowMs))) return;
  const next = `${path}.next`;
  const old = await open(path, readFlags);
  try {
    const { lines, end } = await readTail(old);
    await rm(next, { force: true });
    const file = await open(next, 'wx', ownerOnly);
    await file.appendFile(
      shorten(lines)
        .map((line) => `${line}\n`)
        .join(''),
    );
    await file.close();
    await rename(next, path);
    const { lines: late } = await readTail(old, end);
    for (const line of late) await appendLine(path, line);
  } finally {
    await old.close();
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string, nowMs: number): Promise<boolean> {
  const made = await open(lock, 'wx', ownerOnly).catch(() => undefined);
  if (made !== undefined) {
    await made.close();
    return true;
  }
  const existing = await stat(lock).catch(() => undefined);
  // Two processes can find the same stale lock. If both removed it and then took the lock, one
  // could remove the other's new lock. So this call only removes the lock, and a later call can
  // take it.
  if (existing !== undefined && nowMs - existing.mtimeMs > staleLockMs)
    await rm(lock, { force: true });
  return false;
}

async function readTail(
  file: FileHandle,
  from = 0,
): Promise<HistoryLines & { readonly end: number }> {
  const { size } = await file.stat();
  const start = Math.max(from, size - maxReadBytes);
  const bytes = Buffer.alloc(Math.max(0, size - start));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
  const read = bytes.subarray(0, bytesRead);
  const isCut = start > from;
  const text = read.subarray(isCut ? read.indexOf(0x0a) + 1 : 0).toString();
  const lines = text.split('\n').filter((line) => line !== '');
  return { lines, isCut, end: start + bytesRead };
}
