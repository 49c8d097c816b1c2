import type { LogRecord } from '@millrace/core';

/**
 * The indexes of all matching records, in order. Each record is checked only once, even when more
 * records arrive.
 */
export class MatchIndex {
  readonly #records: readonly LogRecord[];
  readonly #matches: (record: LogRecord) => boolean;
  readonly #limit: number;
  #indexes: readonly number[] = [];
  #read = 0;

  /** `matches` is called for each record in order, until there are `limit` matches. */
  constructor(
    records: readonly LogRecord[],
    matches: (record: LogRecord) => boolean,
    limit: number = Number.POSITIVE_INFINITY,
  ) {
    this.#records = records;
    this.#matches = matches;
    this.#limit = limit;
  }

  /**
   * Returns the matches among the first `count` records. Returns the same array until there are
   * more matches.
   */
  upTo(count: number): readonly number[] {
    if (count < this.#read)
      return this.#indexes.slice(0, partitionPoint(this.#indexes.length, this.#isBefore(count)));
    const found: number[] = [];
    for (; this.#read < count; this.#read++) {
      if (this.#indexes.length + found.length >= this.#limit) break;
      const record = this.#records[this.#read];
      if (record !== undefined && this.#matches(record)) found.push(this.#read);
    }
    if (found.length > 0) this.#indexes = this.#indexes.concat(found);
    return this.#indexes;
  }

  #isBefore(count: number): (index: number) => boolean {
    return (index) => (this.#indexes[index] ?? 0) < count;
  }
}

/** Returns true if a sorted array contains the index. */
export function includesSorted(indexes: readonly number[], place: number): boolean {
  const at = partitionPoint(indexes.length, (index) => (indexes[index] ?? 0) < place);
  return indexes[at] === place;
}

/**
 * Returns how many entries at the start match. This is a binary search, so all matching entries
 * must come first.
 */
export function partitionPoint(length: number, matches: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (matches(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
