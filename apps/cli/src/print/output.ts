import { MillraceError } from '@millrace/core';
import type { Env } from '../contract/host.ts';
import { TerminalText, writeData, writeText } from '../text/terminal/terminal-gate.ts';

/** A writable stream, such as standard output. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
};

/** A failed write. `reader_gone` means that the reader closed the pipe, which is not an error. */
export class OutputError extends MillraceError<'reader_gone' | 'cannot_write'> {}

/**
 * Writes to a stream in order. It waits until the stream accepts each piece. After a failed write,
 * it writes nothing more and reports the failure once. It never throws.
 */
export class Output {
  readonly stream: OutputStream;
  readonly #name: string;
  readonly #onFailure: (error: OutputError) => void;
  #failure: OutputError | undefined;

  constructor(
    stream: OutputStream,
    { name = 'standard output', onFailure = () => {} }: OutputOptions = {},
  ) {
    this.stream = stream;
    this.#name = name;
    this.#onFailure = onFailure;
    // The listener is not removed, because an error may occur after the last write.
    stream.on('error', (error) => this.#fail(error));
  }

  get failure(): OutputError | undefined {
    return this.#failure;
  }

  /** Writes a message. Control characters are made visible. */
  write(text: string | TerminalText): Promise<void> {
    return this.#write(text, (done) => writeText(this.stream, text, done));
  }

  /**
   * Writes data for a program. Control characters are made visible only if the output is a
   * terminal.
   */
  writeData(data: string): Promise<void> {
    return this.#write(data, (done) => writeData(this.stream, data, done));
  }

  #write(
    text: string | TerminalText,
    write: (done: (error?: Error | null) => void) => void,
  ): Promise<void> {
    if (this.#failure !== undefined || text === '') return Promise.resolve();
    return new Promise((resolve) => {
      write((error) => {
        if (error) this.#fail(error);
        resolve();
      });
    });
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = asOutputError(error, this.#name);
    this.#onFailure(this.#failure);
  }
}

interface OutputOptions {
  /** The name of the stream in error messages. */
  readonly name?: string | undefined;
  readonly onFailure?: ((error: OutputError) => void) | undefined;
}

const closedErrnos: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

const reasonByErrno: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'the disk is full'],
  ['EIO', 'the device reports an error'],
  ['EBADF', 'the file is closed'],
  ['EFBIG', 'the file would become too large'],
  ['EDQUOT', 'the quota is used up'],
  ['ENOENT', 'the folder does not exist'],
  ['ENOTDIR', 'a part of its path is a file, not a folder'],
  ['EACCES', 'permission denied'],
  ['EROFS', 'its disk is read-only'],
]);

function asOutputError(cause: Error, name: string): OutputError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const place = { errno: code };
  if (closedErrnos.has(code))
    return new OutputError('reader_gone', `The reader of ${name} is gone`, place, { cause });
  const why = reasonByErrno.get(code);
  const known = why === undefined ? cause.message : `${why} (${code})`;
  return new OutputError('cannot_write', `Cannot write to ${name}: ${known}`, place, { cause });
}

interface NotesOptions {
  readonly hasColor: boolean;
  /** True if the output is a terminal, or with `--verbose`. */
  readonly showDetails: boolean;
  /** Returns true if the answer is on the same terminal and its last line has not ended. */
  readonly isMidLine: () => boolean;
}

/** Writes messages to standard error, separate from the answer. Failed writes are ignored. */
export class Notes {
  readonly #output: Output;
  readonly #options: NotesOptions;

  constructor(stderr: OutputStream, options: NotesOptions) {
    this.#output = new Output(stderr, { name: 'standard error' });
    this.#options = options;
  }

  /** Writes a progress message, if details are shown. */
  async writeDetail(text: string): Promise<void> {
    if (this.#options.showDetails) await this.#write(text, 'dim');
  }

  /** Writes a message that every user needs, such as an error. */
  async write(text: string): Promise<void> {
    await this.#write(text, undefined);
  }

  async #write(text: string, style: 'dim' | undefined): Promise<void> {
    const { hasColor, isMidLine } = this.#options;
    const painted = style === undefined ? text : TerminalText.styled(style, text, hasColor);
    await this.#output.write(TerminalText.of(isMidLine() ? '\n' : '', painted, '\n'));
  }
}

interface ColorOptions {
  readonly env: Env;
  /** False if the user passed `--no-color`. */
  readonly color?: boolean | undefined;
}

/**
 * Returns true if a stream may contain colors. `--no-color` has the highest priority, then
 * FORCE_COLOR, then NO_COLOR, as in the chat. By default, only terminals get colors.
 */
export function hasColor(stream: OutputStream, { env, color = true }: ColorOptions): boolean {
  if (!color) return false;
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  return !env['NO_COLOR'] && stream.isTTY === true && env['TERM'] !== 'dumb';
}
