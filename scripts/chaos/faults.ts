export const faults = ['lost', 'doubled', 'reordered', 'gaps', 'invented'] as const;

/**
 * `lost`: told, and not there any more, or stored in part. `doubled`: there, or told, twice. `gaps`: a
 * reader was not told of something, or a number is missing. `invented`: nobody wrote it, or whoever did
 * was told that it was not stored.
 */
type Fault = (typeof faults)[number];

const shownProblems = 20;

/** What is wrong with a history. */
export class Verdict {
  readonly #counts = new Map<Fault, number>();
  readonly #problems: string[] = [];

  add(fault: Fault, problem: string): void {
    this.#counts.set(fault, this.count(fault) + 1);
    if (this.#problems.length < shownProblems) this.#problems.push(`${fault}: ${problem}`);
  }

  addAll(other: Verdict): void {
    for (const fault of faults) {
      this.#counts.set(fault, this.count(fault) + other.count(fault));
    }
    this.#problems.push(...other.problems.slice(0, shownProblems - this.#problems.length));
  }

  count(fault: Fault): number {
    return this.#counts.get(fault) ?? 0;
  }

  /** The first of them, in words. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  get isClean(): boolean {
    return faults.every((fault) => this.count(fault) === 0);
  }

  toString(): string {
    return faults.map((fault) => `${fault} ${this.count(fault)}`).join(' ');
  }
}
