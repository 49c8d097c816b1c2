import { MillraceError } from '@millrace/core';

/** A stream to write to: standard output, or a test's. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
};

/** What was to be written could not be. `reader_gone`: nobody wants it any more, which is no mistake. */
export class OutputError extends MillraceError<'reader_gone' | 'cannot_write'> {}

/**
 * Writes in order and waits for each piece to be taken, so that a slow reader slows only this. After
 * one failure it writes nothing more and says so once; it never throws.
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
    // It stays for good: an error may come after the last write was taken.
    stream.on('error', (error) => this.#fail(error));
  }

  get failure(): OutputError | undefined {
    return this.#failure;
  }

  write(text: string): Promise<void> {
    if (this.#failure !== undefined || text === '') return Promise.resolve();
    return new Promise((resolve) => {
      this.stream.write(text, (error) => {
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

export interface OutputOptions {
  /** As a message calls it. */
  readonly name?: string | undefined;
  readonly onFailure?: ((error: OutputError) => void) | undefined;
}

const gone: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

const meanings: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'there is no space left'],
  ['EIO', 'the device reports an error'],
  ['EBADF', 'it is closed'],
  ['EFBIG', 'the file would become too large'],
  ['EDQUOT', 'the quota is used up'],
  ['ENOENT', 'there is no such folder'],
  ['ENOTDIR', 'a part of its path is a file and no folder'],
  ['EACCES', 'this user may not write there'],
  ['EROFS', 'its disk is read-only'],
]);

function asOutputError(cause: Error, name: string): OutputError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const place = { errno: code };
  if (gone.has(code))
    return new OutputError('reader_gone', `Nobody reads ${name} any more`, place, { cause });
  const why = meanings.get(code);
  const known = why === undefined ? cause.message : `${why} (${code})`;
  return new OutputError('cannot_write', `Cannot write to ${name}: ${known}`, place, { cause });
}
