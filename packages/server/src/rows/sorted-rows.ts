import type { Row } from '../contract/rows.ts';

export interface Position {
  readonly at: number;
  readonly id: string;
}

/** Rows in the order of one of their times, which they keep as they come and go. */
export class SortedRows {
  readonly #orderBy: 'createdAt' | 'updatedAt';
  readonly #rows: Row[] = [];

  constructor(orderBy: 'createdAt' | 'updatedAt') {
    this.#orderBy = orderBy;
  }

  add(row: Row): void {
    this.#rows.splice(this.#countBefore(this.#placeOf(row), false), 0, row);
  }

  remove(row: Row): void {
    this.#rows.splice(this.#countBefore(this.#placeOf(row), false), 1);
  }

  *ascending(after: Position | undefined): Generator<Row> {
    const start = after === undefined ? 0 : this.#countBefore(after, true);
    for (let at = start; at < this.#rows.length; at++) yield this.#rows[at] as Row;
  }

  *descending(after: Position | undefined): Generator<Row> {
    const end = after === undefined ? this.#rows.length : this.#countBefore(after, false);
    for (let at = end - 1; at >= 0; at--) yield this.#rows[at] as Row;
  }

  #placeOf(row: Row): Position {
    return { at: row[this.#orderBy], id: row.id };
  }

  /** How many stand before it; with the one that stands there, if it is to count. */
  #countBefore(place: Position, isCounted: boolean): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compare(this.#placeOf(this.#rows[middle] as Row), place);
      if (order < 0 || (isCounted && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function compare(a: Position, b: Position): number {
  if (a.at !== b.at) return a.at - b.at;
  // By their bytes, as a database does.
  return a.id === b.id ? 0 : Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}
