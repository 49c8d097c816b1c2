export const faults = ['lost', 'doubled', 'reordered', 'gaps', 'invented'] as const;

/**
 * - `lost`: a record was acknowledged or delivered, but it is not stored completely.
 * - `doubled`: a record was stored or delivered twice.
 * - `reordered`: records were stored or delivered in the wrong order.
 * - `gaps`: a reader missed a record, or an offset is missing.
 * - `invented`: no process wrote the record, or its append was rejected.
 */
type Fault = (typeof faults)[number];

const maxProblems = 20;

/** Counts the faults of a history and describes the first ones. */
export class FaultReport {
  readonly #counts = new Map<Fault, number>();
  readonly #problems: string[] = [];

  add(fault: Fault, problem: string): void {
    this.#counts.set(fault, this.count(fault) + 1);
    if (this.#problems.length < maxProblems) this.#problems.push(`${fault}: ${problem}`);
  }

  addAll(other: FaultReport): void {
    for (const fault of faults) {
      this.#counts.set(fault, this.count(fault) + other.count(fault));
    }
    this.#problems.push(...other.problems.slice(0, maxProblems - this.#problems.length));
  }

  count(fault: Fault): number {
    return this.#counts.get(fault) ?? 0;
  }

  /** Descriptions of the first 20 faults. */
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
