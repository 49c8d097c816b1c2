import { checkJson, isId } from '@millrace/core';
import {
  type PutOptions,
  type Row,
  type RowQuery,
  RowsError,
  type StoredRow,
} from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';

const maxKeys = 8;
const keyPattern = /^[a-z][a-z_]{0,31}$/;
/** Limits for the data of one row. They are needed because a store always reads a complete row. */
const dataLimits = { maxDepth: 128, maxTextLength: 4 * 2 ** 20 };
const maxLimit = 1000;

/**
 * Throws `bad_row` if a store cannot store the row, cannot return it unchanged, or cannot find it by its
 * keys.
 */
export function checkRow(table: string, row: Pick<Row, 'id' | 'keys' | 'data'>): void {
  const invalid = (why: string) =>
    new RowsError('bad_row', `Cannot store a row of ${table}: ${why}`, { table });
  if (!isId(row.id)) throw invalid('its id must have 1 to 1024 printable characters');
  const keys = Object.entries(row.keys);
  if (keys.length > maxKeys)
    throw invalid(`it has ${keys.length} keys, and the maximum is ${maxKeys}`);
  for (const [key, value] of keys) {
    if (!keyPattern.test(key))
      throw invalid('a key must consist of lower-case letters and underscores');
    if (!isId(value)) throw invalid(`its ${key} must have 1 to 1024 printable characters`);
  }
  const problem = checkJson(row.data, dataLimits);
  if (problem !== undefined)
    throw invalid(`its data is not valid JSON at ${problem.path}: ${problem.why}`);
}

/** Throws `bad_row` if the epoch is not an integer of at least 0. */
export function checkEpoch(table: string, epoch: number | undefined): void {
  if (epoch === undefined || (Number.isSafeInteger(epoch) && epoch >= 0)) return;
  const message = `Cannot change a row of ${table}: its epoch must be an integer from 0`;
  throw new RowsError('bad_row', message, { table });
}

/** Returns whether a claim replaces the stored epoch. */
export function isClaimed(stored: number, epoch: number, replacing: number | undefined): boolean {
  return epoch > stored || (replacing !== undefined && replacing === stored);
}

/** Returns the value of `updatedAt` after a put. It never decreases. */
export function nextUpdatedAt(
  before: Row | undefined,
  now: number,
  { keepUpdatedAt = false }: PutOptions,
): number {
  if (before === undefined) return now;
  return keepUpdatedAt ? before.updatedAt : Math.max(now, before.updatedAt);
}

/**
 * Returns the keys of a row from a backup. Older releases stored tasks without `place`, so the function adds
 * it. The migrations of the stores do the same.
 */
export function importedKeys({ table, keys }: StoredRow): Readonly<Record<string, string>> {
  const stored = JSON.parse(keys) as Readonly<Record<string, string>>;
  const isWithoutPlace = table === 'tasks' && stored['is_shown'] === 'yes' && !stored['place'];
  return isWithoutPlace ? { ...stored, place: 'recent' } : stored;
}

/**
 * Adds the defaults to the query. Returns undefined if no row can match. Throws `bad_row` for invalid limits.
 */
export function completeQuery(query: RowQuery): CompleteQuery | undefined {
  const { orderBy = 'createdAt', direction = 'asc', limit = 50, offset = 0, after } = query;
  const { maxLength = Number.POSITIVE_INFINITY } = query;
  const where = Object.entries(query.where ?? {});
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
  if (!isCount(limit) || !isCount(offset) || limit > maxLimit || where.length > maxKeys) {
    const message = `Cannot list rows: limit must be an integer from 0 to ${maxLimit}, offset an integer from 0, and \`where\` can have at most ${maxKeys} keys`;
    throw new RowsError('bad_row', message, { limit, offset });
  }
  const isPossible = where.every(([key, value]) => keyPattern.test(key) && isId(value));
  return isPossible ? { where, orderBy, direction, limit, offset, after, maxLength } : undefined;
}

export interface CompleteQuery {
  readonly where: readonly (readonly [string, string])[];
  readonly orderBy: 'createdAt' | 'updatedAt';
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  readonly after: RowQuery['after'];
  /** Maximum length of the documents of a page. `Infinity` means no limit. */
  readonly maxLength: number;
}

/**
 * Takes rows until their documents are longer than `maxLength`. It returns at least one row, so that a list can
 * continue after a row of any length.
 */
export function takeLength<T>(
  rows: Iterable<T>,
  maxLength: number,
  lengthOf: (row: T) => number,
): readonly T[] {
  const taken: T[] = [];
  let length = 0;
  for (const row of rows) {
    length += lengthOf(row);
    if (taken.length > 0 && length > maxLength) break;
    taken.push(row);
  }
  return taken;
}

interface RowPosition {
  readonly at: number;
  readonly id: string;
}

/** Encodes a list position as an opaque cursor. */
export function encodeCursor({ at, id }: RowPosition): string {
  return Buffer.from(`${at}:${id}`).toString('base64url');
}

export function decodeCursor(cursor: string): RowPosition {
  const [, at, id] = /^(\d{1,16}(?:\.\d+)?):(.+)$/s.exec(
    Buffer.from(cursor, 'base64url').toString(),
  ) ?? [undefined, '', ''];
  if (isId(id)) return { at: Number(at), id };
  const message =
    'Cannot continue from this cursor: it is invalid. Omit it to start from the beginning';
  throw new ServerError('invalid', message);
}
