import { isMillraceError } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { BadLine } from './bad-line.ts';

/** What a file is read as: its lines, or the text that has them. */
export type Lines = AsyncIterable<string> | Iterable<string> | string;

/**
 * Hands the lines over one by one, and gives the number of the last. What is wrong with a line is told with its
 * number. Nothing but empty lines may follow an empty one: files end with a line break.
 */
export async function readLines(
  lines: Lines,
  what: string,
  take: (line: string) => void | Promise<void>,
): Promise<number> {
  let number = 0;
  let emptyAt: number | undefined;
  for await (const line of typeof lines === 'string' ? lines.split('\n') : lines) {
    number++;
    if (typeof line !== 'string') throw badLine(new BadLine('it is no text'), number, what);
    if (line.trim() === '') emptyAt ??= number;
    else {
      if (emptyAt !== undefined) throw badLine(new BadLine('it is empty'), emptyAt, what);
      await taken(line, number, what, take);
    }
  }
  return emptyAt === undefined ? number : emptyAt - 1;
}

async function taken(
  line: string,
  number: number,
  what: string,
  take: (line: string) => void | Promise<void>,
): Promise<void> {
  try {
    await take(line);
  } catch (error) {
    throw badLine(error, number, what);
  }
}

/** The error for whatever is wrong with a line; errors of the log or of the program stay as they are. */
export function badLine(error: unknown, line: number, what: string): unknown {
  const isAboutLine =
    error instanceof BadLine || (isMillraceError(error) && !(error instanceof LogError));
  if (!isAboutLine) return error;
  const isNewer = error.code === 'unsupported_version' || error.code === 'too_new';
  const advice = isNewer ? 'Use a later version' : 'Export it again';
  const left = what === 'blobs' ? 'Those before it are stored' : 'Nothing was imported';
  const message = `Cannot import ${what}: line ${line}: ${error.message}. ${left}. ${advice}`;
  const place = { ...error.place, line };
  return new LogError(isNewer ? 'too_new' : 'bad_records', message, place, { cause: error });
}
