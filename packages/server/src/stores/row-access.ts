import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonValue } from '@millrace/core';
import {
  type PutOptions,
  type Row,
  type RowQuery,
  type Rows,
  RowsError,
  type Table,
} from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, PageQuery } from '../contract/service.ts';
import { decodeCursor, encodeCursor } from '../rows/row-query.ts';

interface RowList<T> {
  readonly table: Table;
  readonly where: Readonly<Record<string, string | undefined>>;
  /** An additional condition that the row store cannot check. Default: all rows match. */
  readonly matches?: ((row: Row) => boolean | Promise<boolean>) | undefined;
  readonly toItem: (row: Row) => T;
  /** Returns the part of a row that replies contain. It counts for the size of a page. Default: the document. */
  readonly shown?: ((row: Row) => unknown) | undefined;
  /** Maximum length of a page, in characters of JSON. Default: 16 Mi. */
  readonly maxLength?: number | undefined;
}

/** Maximum number of rows in one query. */
const batchSize = 100;
/** Maximum length of the rows in one query, in characters of JSON. Other requests run between two queries. */
const batchLength = 2 ** 20;
/** Maximum number of queries for one page. A page therefore reads at most 10,000 rows or about 100 MiB. */
const maxBatches = 100;
/** Maximum number of rows to skip for one page. The constant below is the limit for one query. */
const maxSkipped = 100_000;
const skipSize = 5_000;

/**
 * Returns one page of a list. With `matches`, it reads rows until the page is full or it has made
 * `maxBatches` queries. After `maxBatches` queries, the next page starts after the last row that was read. A
 * page also ends early if it becomes too large. If the caller asked for a page by its number, it throws
 * `invalid` if the number is too large, and `too_large` if the page becomes too large.
 */
export async function listRows<T>(
  rows: Rows,
  { table, where, matches, toItem, shown = ({ data }) => data, maxLength }: RowList<T>,
  page: PageQuery,
): Promise<ListPage<T>> {
  const { limit, pageNumber, cursor, direction } = page;
  const orderBy = page.orderBy === 'created_at' ? 'createdAt' : 'updatedAt';
  const query = { where: definedKeys(where), orderBy, direction, maxLength: batchLength } as const;
  const isByNumber = cursor === undefined && pageNumber > 1;
  const pageSize = new PageSizeLimit(maxLength);
  const data: T[] = [];
  let skipped = cursor === undefined ? (pageNumber - 1) * limit : 0;
  let after = cursor === undefined ? undefined : decodeCursor(cursor);
  if (matches === undefined && skipped > 0) {
    after = await skipRows(rows, table, query, skipped);
    if (after === undefined) return { data, next: null };
    skipped = 0;
  }
  for (let batches = 0; batches < maxBatches; batches++) {
    const left = matches === undefined ? limit + 1 - data.length : batchSize;
    const batch = await rows.list(table, { ...query, after, limit: Math.min(batchSize, left) });
    if (batch.length === 0) return { data, next: null };
    for (const row of batch) {
      const isMatch = matches === undefined || (await matches(row));
      const isShown = isMatch && skipped === 0;
      const isFull = data.length === limit;
      const isEnd = isShown && (isFull || !pageSize.accepts(shown(row)));
      if (isEnd && after !== undefined) {
        if (!isFull && isByNumber) throw pageTooLarge(maxLength);
        return { data, next: encodeCursor(after) };
      }
      after = { at: row[orderBy], id: row.id };
      if (isShown) data.push(toItem(row));
      else if (isMatch) skipped--;
    }
    await nextTurn();
  }
  // The limit was reached before the end of the list. A cursor can continue from there, but a page number
  // cannot.
  if (isByNumber) throw pageOutOfReach(pageNumber);
  return { data, next: after === undefined ? null : encodeCursor(after) };
}

type Position = NonNullable<RowQuery['after']>;

/**
 * Skips rows and returns the position of the last skipped row. Returns undefined if the list has fewer rows.
 * It skips the rows in several queries, because one long query would block other requests.
 */
async function skipRows(
  rows: Rows,
  table: Table,
  query: Pick<RowQuery, 'where' | 'direction'> & { readonly orderBy: 'createdAt' | 'updatedAt' },
  count: number,
): Promise<Position | undefined> {
  if (count > maxSkipped) throw pageOutOfReach();
  let after: Position | undefined;
  for (let left = count; left > 0; left -= skipSize) {
    const offset = Math.min(left, skipSize) - 1;
    const [last] = await rows.list(table, { ...query, after, offset, limit: 1 });
    if (last === undefined) return undefined;
    after = { at: last[query.orderBy], id: last.id };
    await nextTurn();
  }
  return after;
}

function pageOutOfReach(pageNumber?: number): ServerError {
  const which = pageNumber === undefined ? 'this page' : `page ${pageNumber}`;
  const message = `Cannot reach ${which} by its number: too many rows come before it. Start with the first page, and pass the header \`x-next-cursor\` of each page as \`cursor\` of the next one`;
  return new ServerError('invalid', message);
}

function definedKeys(where: RowList<unknown>['where']): RowQuery['where'] {
  const defined = Object.entries(where).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(defined);
}

type Content = Pick<Row, 'keys' | 'data'>;

/**
 * Maximum number of attempts to change a row. An attempt fails if another request changed the row. A client that
 * changes a row all the time must not keep an operator from deleting it.
 */
const maxAttempts = 500;

/**
 * Changes a row based on its current value. It retries if a different process changed the row. The row stays
 * unchanged if `change` returns undefined, or if a run with a higher epoch has claimed the row.
 */
export async function changeRow(
  rows: Rows,
  table: Table,
  id: string,
  change: (row: Row) => Content | undefined,
  put: Omit<PutOptions, 'ifVersion'> = {},
): Promise<{ readonly row: Row; readonly isChanged: boolean }> {
  for (let attempt = 1; ; attempt++) {
    const row = await rows.get(table, id);
    if (row === undefined) throw notFoundError(itemNames[table], id);
    const changed = change(row);
    if (changed === undefined) return { row, isChanged: false };
    try {
      const options = { ...put, ifVersion: row.version };
      const stored = await rows.put(table, { id, ...changed }, options);
      return { row: stored, isChanged: true };
    } catch (error) {
      if (error instanceof RowsError && error.code === 'fenced') return { row, isChanged: false };
      if (!isConflict(error) || attempt === maxAttempts) throw fromRowsError(error);
    }
  }
}

const itemNames: Readonly<Record<Table, string>> = {
  agents: 'agent',
  tasks: 'task',
  states: 'state',
  spans: 'span',
  trackers: 'tracker',
  tokens: 'token',
  files: 'file',
  webhooks: 'webhook',
};

/** Maximum length of a page, in characters of JSON. It is needed because a page can have many values. */
const maxPageLength = 16 * 2 ** 20;

/** Limits the total size of a page. */
export class PageSizeLimit {
  readonly #maxLength: number;
  #length = 0;

  constructor(maxLength: number = maxPageLength) {
    this.#maxLength = maxLength;
  }

  /**
   * Counts a value. Returns false if the page would be too large with it. The first value of a page is always
   * accepted.
   */
  accepts(value: unknown): boolean {
    const isFirst = this.#length === 0;
    this.#length += JSON.stringify(value as JsonValue).length;
    return isFirst || this.#length <= this.#maxLength;
  }
}

/** Returns the error for a page that is too large and was selected by its number. */
export function pageTooLarge(maxLength: number = maxPageLength): ServerError {
  const message = `Cannot return this page: it has over ${maxLength} characters. Use a smaller limit, or pass the header \`x-next-cursor\` of each page as \`cursor\` of the next one`;
  return new ServerError('too_large', message);
}

export function notFoundError(what: string, id: string): ServerError {
  const message = `Cannot find ${what} ${id.slice(0, 200)}: it does not exist`;
  return new ServerError('not_found', message, { [what]: id.slice(0, 200) });
}

/** Returns true if the reason of an error is that something does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ServerError && error.code === 'not_found';
}

/** Returns false if a read fails because its row does not exist. */
export function isFound(read: Promise<unknown>): Promise<boolean> {
  return read.then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
}

/** Converts an error of the row store to an error for the client. */
export function fromRowsError(error: unknown): unknown {
  if (!(error instanceof RowsError)) return error;
  const { code, message, place } = error;
  if (code === 'conflict') return new ServerError('conflict', message, place, { cause: error });
  if (code === 'bad_row') return new ServerError('invalid', message, place, { cause: error });
  if (code === 'closed') return new ServerError('unavailable', message, place, { cause: error });
  return error;
}

export function isConflict(error: unknown): boolean {
  return error instanceof RowsError && error.code === 'conflict';
}

/** Formats milliseconds since 1970 as an ISO 8601 time. Responses use this format. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
