import {
  type ErrorPlace,
  isMillraceError,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '@millrace/core';
import { LogError } from '../contract/log-error.ts';

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
    if (typeof line !== 'string')
      throw toImportError(new BadLineError('it is no text'), number, what);
    if (line.trim() === '') emptyAt ??= number;
    else {
      if (emptyAt !== undefined)
        throw toImportError(new BadLineError('it is empty'), emptyAt, what);
      await takeLine(line, number, what, take);
    }
  }
  return emptyAt === undefined ? number : emptyAt - 1;
}

async function takeLine(
  line: string,
  number: number,
  what: string,
  take: (line: string) => void | Promise<void>,
): Promise<void> {
  try {
    await take(line);
  } catch (error) {
    throw toImportError(error, number, what);
  }
}

/** The error for whatever is wrong with a line; errors of the log or of the program stay as they are. */
export function toImportError(error: unknown, line: number, what: string): unknown {
  const isAboutLine =
    error instanceof BadLineError || (isMillraceError(error) && !(error instanceof LogError));
  if (!isAboutLine) return error;
  const isNewer = error.code === 'unsupported_version' || error.code === 'too_new';
  const advice = isNewer ? 'Use a later version' : 'Export it again';
  const left = what === 'blobs' ? 'Those before it are stored' : 'Nothing was imported';
  const message = `Cannot import ${what}: line ${line}: ${error.message}. ${left}. ${advice}`;
  const place = { ...error.place, line };
  return new LogError(isNewer ? 'too_new' : 'bad_records', message, place, { cause: error });
}

/** Why a line of a file cannot be taken; which one it is, is for the reader of the file to say. */
export class BadLineError extends Error {
  readonly code: 'bad_records' | 'too_new';
  readonly place: ErrorPlace;

  constructor(
    why: string,
    code: 'bad_records' | 'too_new' = 'bad_records',
    place: ErrorPlace = {},
  ) {
    super(why);
    this.code = code;
    this.place = place;
  }
}

/** A line that is an object of JSON. */
export function parseFields(line: string): JsonObject {
  const parsed = parseJson(line);
  if (!parsed.ok) throw new BadLineError(`it is not JSON (${parsed.failure.message})`);
  return objectIn(parsed.value, 'it');
}

export function objectIn(value: JsonValue, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw new BadLineError(`${what} is not an object`);
}

/** A whole number from 0 on. */
export function countIn(fields: JsonObject, name: string): number {
  const value = fields[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new BadLineError(`${name} is not a whole number from 0 on`);
}

export function numberIn(fields: JsonObject, name: string): number {
  const value = fields[name];
  if (typeof value === 'number') return value;
  throw new BadLineError(`${name} is not a number`);
}

export function textIn(fields: JsonObject, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw new BadLineError(`${name} is not a text`);
}

export function flagIn(fields: JsonObject, name: string): boolean {
  const value = fields[name];
  if (typeof value === 'boolean') return value;
  throw new BadLineError(`${name} is neither true nor false`);
}
