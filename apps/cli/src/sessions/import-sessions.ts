import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { isMillraceError, type SessionId } from '@millrace/core';
import { importBlobs, importSession, type Log, LogError } from '@millrace/log';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import type { SessionsContext } from './sessions-context.ts';

/** Imports sessions from files or from standard input. Prints the ids, one per line. */
export async function importSessions(context: SessionsContext): Promise<number> {
  const { args, stdin } = context;
  if (args.operands.length === 0 && stdin.isTTY)
    throw new UsageError(
      'Cannot import: there is no input. Name a file (millrace sessions import file.jsonl), or pipe one in',
    );
  const sources = args.operands.length === 0 ? [undefined] : args.operands;
  for (const source of sources) await importFrom(source, context);
  return exitCodes.done;
}

async function importFrom(
  path: string | undefined,
  { log, output, notes, stdin, cwd }: SessionsContext,
): Promise<void> {
  const input = path === undefined ? stdin : createReadStream(resolve(cwd, path));
  try {
    for await (const { session, existedBefore } of importLines(log, readLines(input), cwd)) {
      if (existedBefore) await notes.write(`Session ${session} already exists and is unchanged\n`);
      else await output.write(`${session}\n`);
    }
  } catch (error) {
    throw isMillraceError(error) ? error : readError(path, error);
  }
}

function readError(path: string | undefined, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException;
  if (syscall === undefined) return cause;
  const what = path ?? 'standard input';
  return new UsageError(`Cannot read ${what} (${code}). Name an existing file`, {}, { cause });
}

/** One imported session. */
interface ImportedSession {
  readonly session: SessionId;
  /** True if the session already existed. In this case, it was not changed. */
  readonly existedBefore: boolean;
}

const isBlob = (line: string) => line.startsWith('{"hash":');
const isHeader = (line: string) => line.startsWith('{"millrace":"session"');
const isRecord = (line: string) => !isBlob(line) && !isHeader(line);

/**
 * Imports the sessions of an export one by one. Each session is imported completely or not at all.
 * Errors contain the line number in the file.
 *
 * It is an error if the first session exists already. The following sessions may exist, because
 * most of them belong to sub-agents. The sessions belong to the folder `cwd` afterwards.
 */
async function* importLines(
  log: Log,
  lines: AsyncIterable<string>,
  cwd: string,
): AsyncGenerator<ImportedSession> {
  const cursor = new LineCursor(lines);
  for (let count = 0; count === 0 || (await cursor.peek()) !== undefined; count++) {
    await withFileLines(cursor, () => importBlobs(log, cursor.takeWhile(isBlob)));
    yield await withFileLines(cursor, () => importOne(log, cursor, { cwd, mayBeThere: count > 0 }));
  }
}

async function importOne(
  log: Log,
  cursor: LineCursor,
  { cwd, mayBeThere }: { readonly cwd: string; readonly mayBeThere: boolean },
): Promise<ImportedSession> {
  const lines = cursor.takeWhile((line, index) => index === 0 || isRecord(line));
  try {
    // The file may come from another person. It must not choose the folder in which the daemon continues the
    // session, so the session belongs to the folder of this command.
    const into = idAfterImport(await cursor.peek());
    const { session } = await importSession(log, lines, { into, metadata: { cwd } });
    return { session, existedBefore: false };
  } catch (error) {
    const isThere = error instanceof LogError && error.code === 'session_exists';
    if (!isThere || !mayBeThere) throw error;
    // The session exists, so its lines are skipped. The next session follows them.
    for await (const _ of cursor.takeWhile(isRecord));
    return { session: error.place['session'] as SessionId, existedBefore: true };
  }
}

/**
 * Returns the id of an imported session if it must differ from the id in the file. An experiment reuses the results
 * in the sessions below `eval/`, so a file of another person must not create such a session.
 */
function idAfterImport(header = ''): string | undefined {
  try {
    const { session } = JSON.parse(header) as { readonly session?: unknown };
    const isOfExperiment = typeof session === 'string' && session.startsWith('eval/');
    return isOfExperiment ? `imported/${session}` : undefined;
  } catch {
    // The line is not a header. `importSession` reports it with its line number.
    return undefined;
  }
}

/**
 * Calls `read` and corrects the line number in its errors. An importer counts lines from the start
 * of its part, and not from the start of the file.
 */
async function withFileLines<T>(cursor: LineCursor, read: () => Promise<T>): Promise<T> {
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
  const message = `Cannot import: ${why}. Use a file that millrace sessions export wrote`;
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
