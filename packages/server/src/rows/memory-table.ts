import type { Row } from '../contract/rows.ts';
import type { CompleteQuery } from './check-row.ts';
import { SortedRows } from './sorted-rows.ts';

/** The rows of one table, found without looking at all of them. */
export class MemoryTable {
  readonly #rows = new Map<string, Row>();
  /** Ids by the name, which one row has. */
  readonly #names = new Map<string, string>();
  readonly #sorted = {
    createdAt: new SortedRows('createdAt'),
    updatedAt: new SortedRows('updatedAt'),
  };

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  idNamed(name: string): string | undefined {
    return this.#names.get(name);
  }

  set(row: Row): void {
    this.delete(row.id);
    this.#rows.set(row.id, row);
    const { name } = row.keys;
    if (name !== undefined) this.#names.set(name, row.id);
    for (const sorted of Object.values(this.#sorted)) sorted.add(row);
  }

  delete(id: string): boolean {
    const row = this.#rows.get(id);
    if (row === undefined) return false;
    const { name } = row.keys;
    if (name !== undefined) this.#names.delete(name);
    for (const sorted of Object.values(this.#sorted)) sorted.remove(row);
    return this.#rows.delete(id);
  }

  list(query: CompleteQuery): readonly Row[] {
    const { where, limit, offset } = query;
    return this.#candidates(query)
      .filter(({ keys }) => where.every(([key, value]) => keys[key] === value))
      .drop(offset)
      .take(limit)
      .toArray();
  }

  /** In their order. By a name there is one at most. */
  #candidates({ where, orderBy, direction, after }: CompleteQuery): IteratorObject<Row> {
    const name = where.find(([key]) => key === 'name')?.[1];
    if (name !== undefined && after === undefined) {
      const row = this.#rows.get(this.#names.get(name) ?? '');
      return (row === undefined ? [] : [row]).values();
    }
    const sorted = this.#sorted[orderBy];
    return direction === 'asc' ? sorted.ascending(after) : sorted.descending(after);
  }
}
