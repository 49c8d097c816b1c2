import { isMillraceError } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import type { OnPoint, RecordStore, StoreTransaction } from '../storage/record-store.ts';

/** Who hears what became of a piece of work, at once, before anybody who waits for it. */
export interface CommitListener<T> {
  /** After the commit. It must not throw. */
  readonly onCommitted?: (value: T) => void;
  /** It was refused or could not be stored. May be called twice. */
  readonly onFailed?: (error: unknown) => void;
}

/** Puts what comes at once into one transaction. */
export interface CommitQueue {
  /** How many there were, for those who measure. */
  readonly transactions: number;
  /** Each time that work is done it has another number, whatever became of it the last time. */
  readonly round: number;
  /**
   * Resolves when it is committed. Work that throws an error of ours must not have written anything
   * before; the others are committed all the same. It may be done again from the start.
   */
  run<T>(work: (tx: StoreTransaction) => T, listener?: CommitListener<T>): Promise<T>;
  assertOpen(): void;
  /** Commits what waits, now; a promise where that takes a while. */
  flush(): void | Promise<void>;
  /** Commits what waits, and nothing more. */
  close(why: Error): void | Promise<void>;
}

export interface CommitJob extends CommitListener<unknown> {
  readonly work: (tx: StoreTransaction) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export type JobOutcome = { readonly value: unknown } | { readonly error: unknown };

export function rejectJob({ onFailed, reject }: CommitJob, error: unknown): void {
  onFailed?.(error);
  reject(error);
}

/** A refusal concerns its own job; anything else is the store's, and concerns all. */
export function runJob({ work, onFailed }: CommitJob, tx: StoreTransaction): JobOutcome {
  try {
    return { value: work(tx) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Now, so that work of the same writer that comes after it in the same transaction knows.
    onFailed?.(error);
    return { error };
  }
}

/** Is it about what was asked for, and not about the store? */
export function isRefusal(error: unknown): boolean {
  return isMillraceError(error) && error.code !== 'storage' && error.code !== 'corrupt';
}

/**
 * Puts what comes at once into one transaction. The first is committed before `run` returns; under a
 * flood there is one transaction in each interval for the whole store.
 */
export class GroupCommit implements CommitQueue {
  readonly #store: RecordStore;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onPoint: OnPoint | undefined;
  #jobs: CommitJob[] = [];
  #lastAt = Number.NEGATIVE_INFINITY;
  #isScheduled = false;
  #cancel: () => void = () => {};
  /** Why nothing is taken any more. */
  #closed: Error | undefined;
  /** How many were begun. Each has a number of its own, whatever became of it. */
  transactions = 0;

  constructor(store: RecordStore, clock: Clock, intervalMs: number, onPoint?: OnPoint) {
    this.#store = store;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onPoint = onPoint;
  }

  get round(): number {
    return this.transactions;
  }

  run<T>(work: (tx: StoreTransaction) => T, listener: CommitListener<T> = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.assertOpen();
      const job = { ...listener, work, resolve, reject } as CommitJob;
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

  #commit(jobs: readonly CommitJob[]): void {
    let outcomes: readonly JobOutcome[] = [];
    let hasBegun = false;
    this.transactions++;
    try {
      outcomes = this.#store.transact((tx) => {
        hasBegun = true;
        return jobs.map((job) => runJob(job, tx));
      });
    } catch (error) {
      // What one does must not take the others with it. Where none could begin, none can alone.
      if (hasBegun && jobs.length > 1) for (const job of jobs) this.#commit([job]);
      else for (const job of jobs) rejectJob(job, error);
      return;
    } finally {
      this.#lastAt = this.#clock.now();
    }
    for (const [index, job] of jobs.entries()) this.#answer(job, outcomes[index]);
  }

  #answer(job: CommitJob, outcome: JobOutcome | undefined): void {
    if (outcome === undefined || 'error' in outcome) return rejectJob(job, outcome?.error);
    this.#onPoint?.('before-tell');
    job.onCommitted?.(outcome.value);
    this.#onPoint?.('after-tell');
    job.resolve(outcome.value);
  }
}
