import {
  type ErrorPlace,
  isMillraceError,
  type JsonObject,
  type JsonValue,
  type MillraceError,
  parseJson,
} from '@millrace/core';
import { LogError } from '../contract/log-error.ts';

/** The content of an exported file: its lines, or one text with line breaks. */
export type LineSource = AsyncIterable<string> | Iterable<string> | string;

/**
 * Calls `take` with each line. Returns the number of the last line. Errors contain the line number. Empty
 * lines are allowed only at the end of the file.
 */
export async function readLines(
  lines: LineSource,
  what: LineContent,
  take: (line: string) => void | Promise<void>,
): Promise<number> {
  let number = 0;
  let emptyAt: number | undefined;
  for await (const line of typeof lines === 'string' ? lines.split('\n') : lines) {
    number++;
    if (typeof line !== 'string')
      throw toImportError(new BadLineError('it is not a string'), number, what);
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
  what: LineContent,
  take: (line: string) => void | Promise<void>,
): Promise<void> {
  try {
    await take(line);
  } catch (error) {
    throw toImportError(error, number, what);
  }
}

/** Converts an error about a line to a `LogError` with the line number. Returns other errors unchanged. */
export function toImportError(error: unknown, line: number, what: LineContent): unknown {
  if (!isAboutLine(error)) return error;
  const isNewer = error.code === 'unsupported_version' || error.code === 'too_new';
  const advice = isNewer ? 'Use a later version of the program' : 'Export it again';
  const { task, effect } = tasks[what];
  const message = `${task}: line ${line}: ${error.message}. ${effect}${advice}`;
  const place = { ...error.place, line };
  return new LogError(isNewer ? 'too_new' : 'bad_records', message, place, { cause: error });
}

/** The content of the lines that are read. */
export type LineContent = 'a session' | 'blobs' | 'an export';

const tasks: Readonly<Record<LineContent, { readonly task: string; readonly effect: string }>> = {
  'a session': { task: 'Cannot import a session', effect: 'Nothing was imported. ' },
  blobs: { task: 'Cannot import blobs', effect: 'The blobs before it are stored. ' },
  'an export': { task: 'Cannot verify an export', effect: '' },
};

/** True if an error says what is wrong with a line. */
export function isAboutLine(error: unknown): error is BadLineError | MillraceError {
  return error instanceof BadLineError || (isMillraceError(error) && !(error instanceof LogError));
}

/** Thrown for an invalid line. The caller adds the line number. */
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

/** Parses a line that must be a JSON object. */
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

/** Reads a field that must be a whole number of 0 or more. */
export function countIn(fields: JsonObject, name: string): number {
  const value = fields[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new BadLineError(`${name} is not a whole number of 0 or more`);
}

export function numberIn(fields: JsonObject, name: string): number {
  const value = fields[name];
  if (typeof value === 'number') return value;
  throw new BadLineError(`${name} is not a number`);
}

export function textIn(fields: JsonObject, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw new BadLineError(`${name} is not a string`);
}

export function flagIn(fields: JsonObject, name: string): boolean {
  const value = fields[name];
  if (typeof value === 'boolean') return value;
  throw new BadLineError(`${name} is neither true nor false`);
}
