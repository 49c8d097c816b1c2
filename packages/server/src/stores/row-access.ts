import type { JsonValue } from '@millrace/core';
import { type Row, type RowQuery, type Rows, RowsError, type Table } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, PageQuery } from '../contract/service.ts';
import { decodeCursor, encodeCursor } from '../rows/row-query.ts';

interface RowList<T> {
  readonly table: Table;
  readonly where: Readonly<Record<string, string | undefined>>;
  /** A condition that the row store cannot evaluate. Default: all rows match. */
  readonly matches?: ((row: Row) => boolean) | undefined;
  readonly toItem: (row: Row) => T;
}

/** Maximum number of rows that are scanned for one page. */
const maxScanned = 10_000;
const batchSize = 100;

/** Returns one page of a list. With `matches`, it reads until the page is full. */
export async function listRows<T>(
  rows: Rows,
  { table, where, matches = () => true, toItem }: RowList<T>,
  page: PageQuery,
): Promise<ListPage<T>> {
  const { limit, pageNumber, cursor, direction } = page;
  const orderBy = page.orderBy === 'created_at' ? 'createdAt' : 'updatedAt';
  const pageSize = new PageSizeLimit();
  const data: T[] = [];
  let skipped = cursor === undefined ? (pageNumber - 1) * limit : 0;
  let after = cursor === undefined ? undefined : decodeCursor(cursor);
  for (let scanned = 0; scanned < maxScanned; ) {
    const batch = await rows.list(table, {
      ...{ where: definedKeys(where), orderBy, direction, after },
      limit: Math.min(batchSize, skipped + limit + 1 - data.length),
    });
    if (batch.length === 0) return { data, next: null };
    scanned += batch.length;
    for (const row of batch) {
      const isMatch = matches(row);
      if (isMatch && data.length === limit && after !== undefined)
        return { data, next: encodeCursor(after) };
      after = { at: row[orderBy], id: row.id };
      if (isMatch && skipped > 0) skipped--;
      else if (isMatch) {
        pageSize.add(row.data);
        data.push(toItem(row));
      }
    }
  }
  // The scan limit was reached before the end of the list. The next page continues there.
  return { data, next: after === undefined ? null : encodeCursor(after) };
}

function definedKeys(where: RowList<unknown>['where']): RowQuery['where'] {
  const defined = Object.entries(where).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(defined);
}

type Content = Pick<Row, 'keys' | 'data'>;

/** Maximum number of concurrent changes to retry after. */
const maxAttempts = 20;

/**
 * Changes a row based on its current value. It retries if another process changed the row. If
 * `change` returns undefined, the row stays unchanged.
 */
export async function changeRow(
  rows: Rows,
  table: Table,
  id: string,
  change: (row: Row) => Content | undefined,
): Promise<{ readonly row: Row; readonly isChanged: boolean }> {
  for (let attempt = 1; ; attempt++) {
    const row = await rows.get(table, id);
    if (row === undefined) throw notFoundError(itemNames[table], id);
    const changed = change(row);
    if (changed === undefined) return { row, isChanged: false };
    try {
      const stored = await rows.put(table, { id, ...changed }, { ifVersion: row.version });
      return { row: stored, isChanged: true };
    } catch (error) {
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
};

/** Maximum length of a page, in characters of JSON. A limit per value does not limit a page of many. */
const maxPageLength = 16 * 2 ** 20;

/** Limits the total size of a page. */
export class PageSizeLimit {
  #length = 0;

  /** Throws if the page is too large. A single value always fits. */
  add(value: unknown): void {
    const isFirst = this.#length === 0;
    this.#length += JSON.stringify(value as JsonValue).length;
    if (isFirst || this.#length <= maxPageLength) return;
    const message = `Cannot return this page: it has over ${maxPageLength} characters. Use a smaller limit`;
    throw new ServerError('too_large', message);
  }
}

export function notFoundError(what: string, id: string): ServerError {
  const message = `Cannot find ${what} ${id.slice(0, 200)}: it does not exist`;
  return new ServerError('not_found', message, { [what]: id.slice(0, 200) });
}

/** Translates an error of the row store into an error for the client. */
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

/** Formats milliseconds since 1970 as on the wire. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
