/**
 * Makes the decisions of a random test from a list of numbers. When a test fails, fast-check
 * shrinks the list and so the test.
 */
export class Choices {
  readonly #numbers: readonly number[];
  #at = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  get isSpent(): boolean {
    return this.#at >= this.#numbers.length;
  }

  /** Returns a number from 0 to count - 1. Returns 0 when the list is used up. */
  below(count: number): number {
    return (this.#numbers[this.#at++] ?? 0) % count;
  }

  oneOf<T>(options: readonly T[]): T | undefined {
    return options.length === 0 ? undefined : options[this.below(options.length)];
  }
}
