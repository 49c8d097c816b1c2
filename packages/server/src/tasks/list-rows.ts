import type { Row, RowQuery, Rows, Table } from '../contract/rows.ts';
import type { ListPage, PageQuery } from '../contract/service.ts';
import { cursorOf, positionOf } from '../rows/cursor.ts';
import { PageWeight } from './page-weight.ts';

export interface RowList<T> {
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
  let after = cursor === undefined ? undefined : positionOf(cursor);
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
        return { data, next: cursorOf(after) };
      after = { at: row[orderBy], id: row.id };
      if (isWanted && skipped > 0) skipped--;
      else if (isWanted) {
        weight.add(row.data);
        data.push(show(row));
      }
    }
  }
  // Looking ended, and not the list: it goes on from there.
  return { data, next: after === undefined ? null : cursorOf(after) };
}

function given(where: RowList<unknown>['where']): RowQuery['where'] {
  const set = Object.entries(where).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(set);
}
