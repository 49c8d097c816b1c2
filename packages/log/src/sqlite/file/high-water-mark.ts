import { closeSync, constants, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * The newest commit that a process has seen: the state of a session after it. A file that does not
 * contain this state has lost commits, because SQLite loses commits only from the end.
 */
export interface Mark {
  /** The incarnation of the file. */
  readonly incarnation: number;
  /** The session's number in the file. 0 if no session has changed yet. */
  readonly key: number;
  readonly made: number;
  /** These three never decrease. */
  readonly through: number;
  readonly rewrites: number;
  readonly epoch: number;
  /** The commit deleted the session. */
  readonly isDeleted: boolean;
}

/** A mark has this many bytes, less than a sector of any disk, so that a write is not torn. */
const markBytes = 160;
const format = 'millrace-mark-1';
/** A reader can meet a write. */
const maxReads = 3;

/** The mark beside a database. It is no part of the database, so that damage does not reach both. */
export class HighWaterMark {
  readonly path: string;
  readonly #fd: number;
  readonly #bytes = Buffer.alloc(markBytes);

  /** Opens or creates the file. It gets the permissions of the database. */
  constructor(database: string) {
    this.path = markPath(database);
    const mode = statSync(database).mode & 0o777;
    this.#fd = openSync(this.path, constants.O_RDWR | constants.O_CREAT, mode);
  }

  /** Returns the mark. `undefined` if there is none, or if it cannot be read. */
  read(): Mark | undefined {
    for (let tries = 0; tries < maxReads; tries++) {
      const length = readSync(this.#fd, this.#bytes, 0, markBytes, 0);
      const mark = decodeMark(this.#bytes.toString('latin1', 0, length));
      if (mark !== undefined) return mark;
    }
    return undefined;
  }

  /**
   * Stores the mark. The page cache of the system survives a crash of the process. A failure is
   * ignored: an older mark is also true, and the next commit reports the error of the disk.
   */
  write(mark: Mark): void {
    this.#bytes.fill(' ').write(encodeMark(mark), 'latin1');
    this.#bytes[markBytes - 1] = 10;
    try {
      writeSync(this.#fd, this.#bytes, 0, markBytes, 0);
    } catch {}
  }

  /** Waits until the file is on the disk. */
  sync(): void {
    try {
      fsyncSync(this.#fd);
    } catch {}
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** The path of the mark of a database. */
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
