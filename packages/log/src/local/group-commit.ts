import type { OnPoint } from '../shelf/commit-point.ts';
import type { Shelf, ShelfWriter } from '../shelf/shelf.ts';
import type { Clock } from './clock.ts';
import { type Commits, type Ears, type Job, type Outcome, outcomeOf, refuse } from './commits.ts';

/**
 * Puts what comes at once into one transaction. The first is committed before `run` returns; under a
 * flood there is one transaction in each interval for the whole store.
 */
export class GroupCommit implements Commits {
  readonly #shelf: Shelf;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onPoint: OnPoint | undefined;
  #jobs: Job[] = [];
  #lastAt = Number.NEGATIVE_INFINITY;
  #isScheduled = false;
  #cancel: () => void = () => {};
  /** Why nothing is taken any more. */
  #closed: Error | undefined;
  /** How many were begun. Each has a number of its own, whatever became of it. */
  transactions = 0;

  constructor(shelf: Shelf, clock: Clock, intervalMs: number, onPoint?: OnPoint) {
    this.#shelf = shelf;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onPoint = onPoint;
  }

  get round(): number {
    return this.transactions;
  }

  run<T>(work: (shelf: ShelfWriter) => T, ears: Ears<T> = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.assertOpen();
      const job = { ...ears, work, resolve, reject } as Job;
      this.#jobs.push(job);
      this.#schedule();
    });
  }

  close(why: Error): void {
    this.flush();
    this.#closed = why;
  }

  assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed;
  }

  flush(): void {
    this.#cancel();
    this.#isScheduled = false;
    const jobs = this.#jobs;
    this.#jobs = [];
    if (jobs.length > 0) this.#commit(jobs);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const waitMs = this.#lastAt + this.#intervalMs - this.#clock.now();
    if (this.#intervalMs === 0 || waitMs <= 0) return this.flush();
    this.#isScheduled = true;
    // A clock that was set back must not hold anything up.
    this.#cancel = this.#clock.after(Math.min(waitMs, this.#intervalMs), () => this.flush());
  }

  #commit(jobs: readonly Job[]): void {
    let outcomes: readonly Outcome[] = [];
    let hasBegun = false;
    this.transactions++;
    try {
      outcomes = this.#shelf.transact((shelf) => {
        hasBegun = true;
        return jobs.map((job) => outcomeOf(job, shelf));
      });
    } catch (error) {
      // What one does must not take the others with it. Where none could begin, none can alone.
      if (hasBegun && jobs.length > 1) for (const job of jobs) this.#commit([job]);
      else for (const job of jobs) refuse(job, error);
      return;
    } finally {
      this.#lastAt = this.#clock.now();
    }
    for (const [index, job] of jobs.entries()) this.#answer(job, outcomes[index]);
  }

  #answer(job: Job, outcome: Outcome | undefined): void {
    if (outcome === undefined || 'error' in outcome) return refuse(job, outcome?.error);
    this.#onPoint?.('before-tell');
    job.tell?.(outcome.value);
    this.#onPoint?.('after-tell');
    job.resolve(outcome.value);
  }
}
