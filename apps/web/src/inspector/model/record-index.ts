import type { LogRecord } from '@millrace/core';

/** The places of the records that fit, in order. Each record is looked at once, however often more come. */
export class GrowingPlaces {
  readonly #records: readonly LogRecord[];
  readonly #fits: (record: LogRecord) => boolean;
  readonly #most: number;
  #places: readonly number[] = [];
  #read = 0;

  /** `fits` hears of the records in order, until `most` were found. */
  constructor(
    records: readonly LogRecord[],
    fits: (record: LogRecord) => boolean,
    most: number = Number.POSITIVE_INFINITY,
  ) {
    this.#records = records;
    this.#fits = fits;
    this.#most = most;
  }

  /** Of the first so many records. The same list until there are more that fit. */
  upTo(count: number): readonly number[] {
    if (count < this.#read)
      return this.#places.slice(0, partitionPoint(this.#places.length, this.#isBefore(count)));
    const found: number[] = [];
    for (; this.#read < count; this.#read++) {
      if (this.#places.length + found.length >= this.#most) break;
      const record = this.#records[this.#read];
      if (record !== undefined && this.#fits(record)) found.push(this.#read);
    }
    if (found.length > 0) this.#places = this.#places.concat(found);
    return this.#places;
  }

  #isBefore(count: number): (index: number) => boolean {
    return (index) => (this.#places[index] ?? 0) < count;
  }
}

/** Is it one of these, which are in order? */
export function isAmong(places: readonly number[], place: number): boolean {
  const at = partitionPoint(places.length, (index) => (places[index] ?? 0) < place);
  return places[at] === place;
}

/** How many entries at the start of a list fit, where all that fit stand before all that do not. */
export function partitionPoint(length: number, fits: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
