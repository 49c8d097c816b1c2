/** Random numbers from a seed (mulberry32), so that a run can be repeated. */
export class Randomness {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number that is at least 0 and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from 0 to count - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  oneOf<T>(options: readonly [T, ...(readonly T[])]): T;
  oneOf<T>(options: readonly T[]): T | undefined;
  oneOf<T>(options: readonly T[]): T | undefined {
    return options[this.below(options.length)];
  }

  /**
   * Returns a seed for a second generator. The numbers of that generator do not depend on later use
   * of this one.
   */
  seed(): number {
    return this.below(2 ** 31);
  }
}
