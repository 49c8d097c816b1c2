export const faults = ['lost', 'doubled', 'reordered', 'gaps', 'invented'] as const;

/**
 * - `lost`: acknowledged or delivered, but not stored; or stored only in part.
 * - `doubled`: stored or delivered twice.
 * - `reordered`: stored or delivered in the wrong order.
 * - `gaps`: a reader missed a record, or an offset is missing.
 * - `invented`: no process wrote it, or its append was refused.
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
