import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';

/** Only so much of the end is read, and kept when the file is made shorter. */
const maxReadBytes = 2 ** 23;
const ownerOnly = 0o600;
/** To shorten a file takes far less. A lock that is older was left behind. */
const staleLockMs = 60_000;

interface HistoryLines {
  readonly lines: readonly string[];
  /** There is more before them. */
  readonly isCut: boolean;
}

/** The lines at the file's end. */
export async function readLines(path: string): Promise<HistoryLines> {
  const file = await open(path, 'r');
  try {
    const { lines, isCut } = await readTail(file);
    return { lines, isCut };
  } finally {
    await file.close();
  }
}

/**
 * Adds a line, beside other processes that do. It begins on a new line even behind one that was
 * torn. Should the file be replaced by a shorter one meanwhile, the line goes there too.
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
  return open(path, 'a', ownerOnly);
}

/**
 * Replaces the file by a shorter one: what `shorten` makes of its lines. One process at a time does
 * it, and others may add lines meanwhile: those that came to the old file are carried over, and those
 * that come later notice that the file is another. A line may be there twice then.
 */
export async function shortenFile(
  path: string,
  shorten: (lines: readonly string[]) => readonly string[],
  nowMs: number,
): Promise<void> {
  const lock = `${path}.lock`;
  if (!(await takeLock(lock, nowMs))) return;
  const next = `${path}.next`;
  const old = await open(path, 'r');
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
  const found = await stat(lock).catch(() => undefined);
  // Somebody else may have seen the same: it is removed now, and taken another time.
  if (found !== undefined && nowMs - found.mtimeMs > staleLockMs) await rm(lock, { force: true });
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
