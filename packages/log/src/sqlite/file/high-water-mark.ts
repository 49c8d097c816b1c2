import { closeSync, constants, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * Describes the newest commit that a process has seen: the state of one session after this commit. SQLite
 * loses commits only from the end. If a file does not contain this state, it has lost commits.
 */
export interface Mark {
  /** The incarnation of the file. */
  readonly incarnation: number;
  /** The number of the session's row in the file. 0 if no session has changed yet. */
  readonly key: number;
  readonly made: number;
  /** The state of the session after the commit. These three numbers never decrease. */
  readonly through: number;
  readonly rewrites: number;
  readonly epoch: number;
  /** True if the commit deleted the session. */
  readonly isDeleted: boolean;
}

/**
 * The size of a mark in bytes. It is smaller than a sector of any disk, so a mark is never written only in
 * part.
 */
const markBytes = 160;
// Windows does not have O_NOFOLLOW.
const openFlags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
const format = 'millrace-mark-1';
/** The maximum number of tries to read a mark. A try can fail if it happens during a write. */
const maxReads = 3;

/**
 * The file beside a database that contains the mark. It is a separate file, so that damage to the database
 * does not damage the mark.
 */
export class HighWaterMark {
  readonly path: string;
  readonly #fd: number;
  readonly #bytes = Buffer.alloc(markBytes);

  /**
   * Opens or creates the file. A new file gets the permissions of the database. Throws if the path is a link,
   * because a mark would overwrite the target.
   */
  constructor(database: string) {
    this.path = markPath(database);
    const mode = statSync(database).mode & 0o777;
    this.#fd = openSync(this.path, openFlags, mode);
  }

  /** Returns the mark. Returns `undefined` if there is no mark, or if it cannot be read. */
  read(): Mark | undefined {
    for (let tries = 0; tries < maxReads; tries++) {
      const length = readSync(this.#fd, this.#bytes, 0, markBytes, 0);
      const mark = decodeMark(this.#bytes.toString('latin1', 0, length));
      if (mark !== undefined) return mark;
    }
    return undefined;
  }

  /**
   * Stores the mark. If only the process crashes, the operating system still writes the mark to the disk.
   * Errors are ignored, because an older mark is also correct. If the disk has failed, the next commit throws
   * the error.
   */
  write(mark: Mark): void {
    this.#bytes.fill(' ').write(encodeMark(mark), 'latin1');
    this.#bytes[markBytes - 1] = 10;
    try {
      writeSync(this.#fd, this.#bytes, 0, markBytes, 0);
    } catch {}
  }

  /** Waits until the content of the file is on the disk. */
  sync(): void {
    try {
      fsyncSync(this.#fd);
    } catch {}
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Returns the path of the mark file of a database. */
function markPath(database: string): string {
  return `${database}-mark`;
}

function encodeMark(mark: Mark): string {
  const { incarnation, key, made, through, rewrites, epoch, isDeleted } = mark;
  const text = `${format} ${incarnation} ${key} ${made} ${through} ${rewrites} ${epoch} ${Number(isDeleted)}`;
  return `${text} ${crc32(text)}`;
}

function decodeMark(text: string): Mark | undefined {
  const line = text.trimEnd();
  const end = line.lastIndexOf(' ');
  if (!line.startsWith(`${format} `) || String(crc32(line.slice(0, end))) !== line.slice(end + 1))
    return undefined;
  const [incarnation = 0, key = 0, made = 0, through = 0, rewrites = 0, epoch = 0, deleted = 0] =
    line
      .slice(format.length + 1, end)
      .split(' ')
      .map(Number);
  return { incarnation, key, made, through, rewrites, epoch, isDeleted: deleted === 1 };
}
