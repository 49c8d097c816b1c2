import { isMillraceError } from '@millrace/core';
import type { OnPoint } from '../shelf/commit-point.ts';
import type { Shelf, ShelfWriter } from '../shelf/shelf.ts';
import type { Clock } from './clock.ts';

interface Job {
  readonly work: (shelf: ShelfWriter) => unknown;
  readonly tell: (value: unknown) => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * Puts what comes at once into one transaction. The first is committed before `run` returns; under a
 * flood there is one transaction in each interval for the whole store.
 */
export class GroupCommit {
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
  /** For those who measure. */
  transactions = 0;

  constructor(shelf: Shelf, clock: Clock, intervalMs: number, onPoint?: OnPoint) {
    this.#shelf = shelf;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onPoint = onPoint;
  }

  /**
   * Resolves when it is committed. Work that throws an error of ours must not have written anything
   * before; the others are committed all the same. `tell` is called at once after the commit.
   */
  run<T>(work: (shelf: ShelfWriter) => T, tell: (value: T) => void = () => {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.assertOpen();
      const job = { work, tell, resolve, reject } as Job;
      this.#jobs.push(job);
      this.#schedule();
    });
  }

  /** Commits what waits, and nothing more. */
  close(why: Error): void {
    this.flush();
    this.#closed = why;
  }

  assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed;
  }

  /** Commits what waits, now. */
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
    if (waitMs <= 0) return this.flush();
    this.#isScheduled = true;
    // A clock that was set back must not hold anything up.
    this.#cancel = this.#clock.after(Math.min(waitMs, this.#intervalMs), () => this.flush());
  }

  #commit(jobs: readonly Job[]): void {
    let outcomes: readonly Outcome[];
    try {
      outcomes = this.#shelf.transact((shelf) => jobs.map(({ work }) => outcomeOf(work, shelf)));
    } catch (error) {
      if (jobs.length > 1 && isDamage(error)) return this.#commitEach(jobs);
      for (const { reject } of jobs) reject(error);
      return;
    } finally {
      this.#lastAt = this.#clock.now();
      this.transactions++;
    }
    for (const [index, { tell, resolve, reject }] of jobs.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || 'error' in outcome) reject(outcome?.error);
      else {
        this.#onPoint?.('before-tell');
        tell(outcome.value);
        this.#onPoint?.('after-tell');
        resolve(outcome.value);
      }
    }
  }

  /** One whose session is damaged must not take the others with it. */
  #commitEach(jobs: readonly Job[]): void {
    for (const job of jobs) this.#commit([job]);
  }
}

function isDamage(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'corrupt';
}

/** A refusal concerns its own job; anything else is the store's, and concerns all. */
function outcomeOf(work: Job['work'], shelf: ShelfWriter): Outcome {
  try {
    return { value: work(shelf) };
  } catch (error) {
    const isRefusal =
      isMillraceError(error) && error.code !== 'storage' && error.code !== 'corrupt';
    if (isRefusal) return { error };
    throw error;
  }
}
