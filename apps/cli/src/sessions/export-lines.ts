import { LogError } from '@millrace/log';
import { UsageError } from '../contract/errors.ts';
import { isFileError } from '../safe-files.ts';

/** True for a line with a piece of a blob. The lines of a session's blobs precede its header. */
export const isBlob = (line: string): boolean => line.startsWith('{"hash":');
/** True for the first line of a session. */
export const isHeader = (line: string): boolean => line.startsWith('{"millrace":"session"');
/** True for a line that is neither a header nor a blob. */
export const isRecord = (line: string): boolean => !isBlob(line) && !isHeader(line);

/** Converts a system error about a file that cannot be read. Returns other errors unchanged. */
export function readError(path: string | undefined, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException;
  const what = path ?? 'standard input';
  if (isFileError(cause))
    return new UsageError(`Cannot read ${what}: ${cause.message}`, {}, { cause });
  if (syscall === undefined) return cause;
  return new UsageError(`Cannot read ${what} (${code}). Name an existing file`, {}, { cause });
}

/**
 * Calls `read` and corrects the line number in its errors. An importer counts lines from the start
 * of its part, and not from the start of the file.
 */
export async function withFileLines<T>(cursor: LineCursor, read: () => Promise<T>): Promise<T> {
  const before = cursor.number;
  try {
    return await read();
  } catch (error) {
    throw toFileLine(error, before);
  }
}

function toFileLine(error: unknown, before: number): unknown {
  const line = error instanceof LogError ? error.place['line'] : undefined;
  if (!(error instanceof LogError) || typeof line !== 'number') return error;
  const message = error.message.replace(`line ${line}:`, `line ${before + line}:`);
  const place = { ...error.place, line: before + line };
  return new LogError(error.code, message, place, { cause: error });
}

/** Maximum length of a line. No record is longer, so a file with a longer line is not an export. */
const maxLineLength = 2 ** 27;

/**
 * Yields the lines of a UTF-8 stream. Throws errors of the stream, and `bad_records` if the input
 * is not text.
 */
export async function* readLines(
  input: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decode(decoder, chunk);
    const [first = '', ...rest] = text.split('\n');
    pieces.push(first);
    length += first.length;
    if (length > maxLineLength) throw notAnExportError('a line is too long');
    for (const line of rest) {
      yield dropCarriageReturn(pieces.join(''));
      pieces = [line];
      length = line.length;
    }
  }
  const last = pieces.join('') + decode(decoder);
  if (last !== '') yield dropCarriageReturn(last);
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw notAnExportError('it is not text in UTF-8', cause);
  }
}

function dropCarriageReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

function notAnExportError(why: string, cause?: unknown): LogError {
  const message = `Cannot read the export: ${why}. Use a file that millrace sessions export wrote`;
  return new LogError('bad_records', message, {}, { cause });
}

/** Reads lines one by one, so that several consumers can share them. */
export class LineCursor {
  readonly #lines: AsyncIterator<string>;
  #next: Promise<IteratorResult<string>> | undefined;
  /** The number of lines that were read. */
  #number = 0;

  constructor(lines: AsyncIterable<string>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  get number(): number {
    return this.#number;
  }

  /** Returns the next line without consuming it. Returns undefined at the end. */
  async peek(): Promise<string | undefined> {
    this.#next ??= this.#lines.next();
    const { done, value } = await this.#next;
    return done ? undefined : value;
  }

  /** Yields the next lines as long as `fits` returns true. */
  async *takeWhile(fits: (line: string, index: number) => boolean): AsyncGenerator<string> {
    for (let index = 0; ; index++) {
      const line = await this.peek();
      if (line === undefined || !fits(line, index)) return;
      this.#next = undefined;
      this.#number++;
      yield line;
    }
  }
}
