import type { JsonValue } from '@millrace/core';
import { type Row, type RowQuery, type Rows, RowsError, type Table } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, PageQuery } from '../contract/service.ts';
import { encodeCursor, decodeCursor } from '../rows/row-query.ts';

interface RowList<T> {
  readonly table: Table;
  readonly where: Readonly<Record<string, string | undefined>>;
  /** What cannot be asked of the rows themselves. */
  readonly fits?: ((row: Row) => boolean) | undefined;
  readonly show: (row: Row) => T;
}

/** How many rows are looked at for one page, whatever is looked for. */
const maxLooked = 10_000;
const mostAtOnce = 100;

/** One page of a list. Where rows are sorted out, it goes on reading until the page is full. */
export async function listRows<T>(
  rows: Rows,
  { table, where, fits = () => true, show }: RowList<T>,
  page: PageQuery,
): Promise<ListPage<T>> {
  const { limit, pageNumber, cursor, direction } = page;
  const orderBy = page.orderBy === 'created_at' ? 'createdAt' : 'updatedAt';
  const weight = new PageWeight();
  const data: T[] = [];
  let skipped = cursor === undefined ? (pageNumber - 1) * limit : 0;
  let after = cursor === undefined ? undefined : decodeCursor(cursor);
  for (let looked = 0; looked < maxLooked; ) {
    const some = await rows.list(table, {
      ...{ where: given(where), orderBy, direction, after },
      limit: Math.min(mostAtOnce, skipped + limit + 1 - data.length),
    });
    if (some.length === 0) return { data, next: null };
    looked += some.length;
    for (const row of some) {
      const isWanted = fits(row);
      if (isWanted && data.length === limit && after !== undefined)
        return { data, next: encodeCursor(after) };
      after = { at: row[orderBy], id: row.id };
      if (isWanted && skipped > 0) skipped--;
      else if (isWanted) {
        weight.add(row.data);
        data.push(show(row));
      }
    }
  }
  // Looking ended, and not the list: it goes on from there.
  return { data, next: after === undefined ? null : encodeCursor(after) };
}

function given(where: RowList<unknown>['where']): RowQuery['where'] {
  const set = Object.entries(where).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(set);
}

type Content = Pick<Row, 'keys' | 'data'>;

/** So often somebody else may be quicker. */
const maxTries = 20;

/**
 * Changes a row by what it is now, again if somebody else was quicker. Undefined from `change` leaves
 * it as it is.
 */
export async function changeRow(
  rows: Rows,
  table: Table,
  id: string,
  change: (row: Row) => Content | undefined,
): Promise<{ readonly row: Row; readonly isChanged: boolean }> {
  for (let tries = 1; ; tries++) {
    const row = await rows.get(table, id);
    if (row === undefined) throw noSuch(nameOf[table], id);
    const changed = change(row);
    if (changed === undefined) return { row, isChanged: false };
    try {
      const kept = await rows.put(table, { id, ...changed }, { ifVersion: row.version });
      return { row: kept, isChanged: true };
    } catch (error) {
      if (!isConflict(error) || tries === maxTries) throw rowRefusal(error);
    }
  }
}

const nameOf: Readonly<Record<Table, string>> = {
  agents: 'agent',
  tasks: 'task',
  states: 'state',
  spans: 'span',
  trackers: 'tracker',
  tokens: 'token',
};

/** In characters of JSON. What is kept is bounded one by one; a page of a thousand has to be, too. */
const maxPage = 16 * 2 ** 20;

/** What a page of a list has in it so far. */
export class PageWeight {
  #length = 0;

  /** Throws where one page would be too much. One thing alone always fits. */
  add(value: unknown): void {
    const isFirst = this.#length === 0;
    this.#length += JSON.stringify(value as JsonValue).length;
    if (isFirst || this.#length <= maxPage) return;
    const message = `Cannot list so much at once: it is over ${maxPage} characters. Ask with a smaller limit`;
    throw new ServerError('too_large', message);
  }
}

export function noSuch(what: string, id: string): ServerError {
  const message = `Cannot find ${what} ${id.slice(0, 200)}: there is none`;
  return new ServerError('not_found', message, { [what]: id.slice(0, 200) });
}

/** What the rows refused, as whoever asked has to hear it. */
export function rowRefusal(error: unknown): unknown {
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

/** Milliseconds since 1970 as the wire has them. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
