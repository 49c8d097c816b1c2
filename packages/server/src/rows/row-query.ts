import { checkJson, isId } from '@millrace/core';
import { type Row, type RowQuery, RowsError } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';

const maxKeys = 8;
const keyPattern = /^[a-z][a-z_]{0,31}$/;
/** What one row may hold; there may be many, and each is read whole. */
const dataLimits = { maxDepth: 128, maxTextLength: 4 * 2 ** 20 };
const maxLimit = 1000;

/** Throws where it could not be read back as it is, or found by its keys. */
export function checkRow(table: string, row: Pick<Row, 'id' | 'keys' | 'data'>): void {
  const refuse = (why: string) =>
    new RowsError('bad_row', `Cannot keep a row of ${table}: ${why}`, { table });
  if (!isId(row.id)) throw refuse('its id is not of 1 to 1024 printable characters');
  const keys = Object.entries(row.keys);
  if (keys.length > maxKeys) throw refuse(`it has ${keys.length} keys, and ${maxKeys} is the most`);
  for (const [key, value] of keys) {
    if (!keyPattern.test(key)) throw refuse('a key is not of lower case letters and underscores');
    if (!isId(value)) throw refuse(`its ${key} is not of 1 to 1024 printable characters`);
  }
  const problem = checkJson(row.data, dataLimits);
  if (problem !== undefined) throw refuse(`its data is no JSON at ${problem.path}: ${problem.why}`);
}

/** The query with all that it leaves open, or undefined where nothing can be found by it. */
export function completeQuery(query: RowQuery): CompleteQuery | undefined {
  const { orderBy = 'createdAt', direction = 'asc', limit = 50, offset = 0, after } = query;
  const where = Object.entries(query.where ?? {});
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
  if (!isCount(limit) || !isCount(offset) || limit > maxLimit || where.length > maxKeys) {
    const message = `Cannot list rows so: limit is a whole number up to ${maxLimit}, offset one from 0 on, and at most ${maxKeys} keys are asked for`;
    throw new RowsError('bad_row', message, { limit, offset });
  }
  const canBe = where.every(([key, value]) => keyPattern.test(key) && isId(value));
  return canBe ? { where, orderBy, direction, limit, offset, after } : undefined;
}

export interface CompleteQuery {
  readonly where: readonly (readonly [string, string])[];
  readonly orderBy: 'createdAt' | 'updatedAt';
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  readonly after: RowQuery['after'];
}

interface RowPosition {
  readonly at: number;
  readonly id: string;
}

/** Where a list of rows goes on, as a text that means nothing to whoever carries it. */
export function encodeCursor({ at, id }: RowPosition): string {
  return Buffer.from(`${at}:${id}`).toString('base64url');
}

export function decodeCursor(cursor: string): RowPosition {
  const [, at, id] = /^(\d{1,16}(?:\.\d+)?):(.+)$/s.exec(
    Buffer.from(cursor, 'base64url').toString(),
  ) ?? [undefined, '', ''];
  if (isId(id)) return { at: Number(at), id };
  const message = 'Cannot go on from this cursor: it is none that a list gave. Start without one';
  throw new ServerError('invalid', message);
}
