import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  openSync,
  type ReadStream,
  readSync,
  type Stats,
} from 'node:fs';
import { Socket } from 'node:net';
import { MillraceError } from '@millrace/core';

/** Thrown if a file cannot be used. The message contains the reason, but not the path. */
class FileError extends MillraceError<'not_a_file' | 'too_large'> {}

/** True for the error of `readFileSafely` about a file that is too large, or no regular file. */
export function isFileError(error: unknown): error is Error {
  return error instanceof FileError;
}

interface ReadOptions {
  readonly maxBytes: number;
  /**
   * If true, only the first `maxBytes` of a larger file are read. If false, a larger file is an
   * error. Default: false.
   */
  readonly clip?: boolean | undefined;
  /**
   * If true, the file may be a pipe, such as `<(…)` of a shell. Use this only for a path that the
   * user typed. Default: false.
   */
  readonly pipes?: boolean | undefined;
}

interface FileBytes {
  readonly bytes: Buffer;
  /** True if the file has more bytes than were read. */
  readonly isClipped: boolean;
}

/**
 * Reads the start of a file that an untrusted person may have created. It never waits for a FIFO.
 * Opening a FIFO would block a thread, and `process.exit` would wait for this thread. Throws a
 * `FileError` if the file is too large or not a regular file. Throws the error of the system if the
 * file cannot be opened or read.
 */
export async function readFileSafely(
  path: string,
  { maxBytes, clip = false, pipes = false }: ReadOptions,
): Promise<FileBytes> {
  const fd = openToRead(path);
  const stats = fstatSync(fd);
  // The socket in `readPipe` also closes the descriptor.
  if (pipes && stats.isFIFO())
    return { bytes: await readPipe(fd, path, maxBytes), isClipped: false };
  try {
    if (!stats.isFile()) throw notAFile(path, stats);
    const bytes = readStart(fd, Math.min(stats.size, maxBytes) + 1);
    const isClipped = stats.size > maxBytes || bytes.length > maxBytes;
    if (isClipped && !clip) throw tooLarge(path, maxBytes);
    return { bytes: bytes.subarray(0, maxBytes), isClipped };
  } finally {
    closeSync(fd);
  }
}

/** Maximum size of a text, in bytes. A longer string could not exist. */
const maxTextBytes = 500 * 2 ** 20;

/** Reads the text of a file or a pipe that the user named. */
export async function readText(path: string): Promise<string> {
  const { bytes } = await readFileSafely(path, { maxBytes: maxTextBytes, pipes: true });
  return bytes.toString('utf8');
}

/**
 * Reads a file or a pipe of any size in pieces. Use it for a path that the user typed. It never blocks a thread, so a
 * signal can end the process.
 */
export async function* readPieces(path: string): AsyncGenerator<Uint8Array> {
  const fd = openToRead(path);
  const stats = fstatSync(fd);
  if (stats.isFIFO()) yield* pieces(new Socket({ fd, readable: true, writable: false }));
  else if (stats.isFile()) yield* pieces(createReadStream(path, { fd }));
  else {
    // A terminal would fail instead of waiting for a line.
    closeSync(fd);
    yield* pieces(createReadStream(path));
  }
}

function pieces(stream: Socket | ReadStream): AsyncIterable<Uint8Array> {
  return stream as AsyncIterable<Buffer>;
}

/** Opens a file. The open of a FIFO returns at once, also without a writer. */
function openToRead(path: string): number {
  return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
}

function readStart(fd: number, maxLength: number): Buffer {
  const bytes = Buffer.alloc(maxLength);
  let length = 0;
  for (let read = -1; read !== 0 && length < maxLength; length += read)
    read = readSync(fd, bytes, length, maxLength - length, length);
  return bytes.subarray(0, length);
}

/**
 * Reads a pipe to its end. It reads with a socket, which waits for data in the event loop. A signal
 * can therefore still end the process.
 */
async function readPipe(fd: number, path: string, maxBytes: number): Promise<Buffer> {
  const socket = new Socket({ fd, readable: true, writable: false });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(path, maxBytes);
  }
  return Buffer.concat(chunks);
}

function notAFile(path: string, stats: Stats): FileError {
  const why = stats.isDirectory() ? 'it is a folder. Choose a file' : 'it is not a regular file';
  return new FileError('not_a_file', why, { path });
}

function tooLarge(path: string, maxBytes: number): FileError {
  const size = maxBytes >= 2 ** 20 ? `${maxBytes / 2 ** 20} MiB` : `${maxBytes} bytes`;
  return new FileError('too_large', `it is larger than ${size}`, { path });
}
