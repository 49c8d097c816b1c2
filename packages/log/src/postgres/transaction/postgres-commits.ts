import type { Clock } from '../../contract/clock.ts';
import {
  type Commits,
  type Ears,
  type Job,
  type Outcome,
  outcomeOf,
  refuse,
} from '../../engine/commit-queue.ts';
import type { OnPoint, ShelfWriter } from '../../storage/record-store.ts';
import { isForAll } from '../database/storage-error.ts';
import { Draft } from './draft.ts';
import { type Fetched, Missing, type Want } from './fetched-rows.ts';
import type { Pass, Writer } from './writer.ts';

interface CommitOptions {
  readonly writer: Writer;
  readonly clock: Clock;
  /** From the beginning of one transaction to that of the next, at least. */
  readonly intervalMs: number;
  readonly onPoint?: OnPoint | undefined;
}

/** So that a transaction stays short, and does not need more locks than a server has to give. */
const jobsAtOnce = 1024;

/**
 * Puts what comes at once, of all sessions of this process, into one transaction. The first is begun
 * at once; then there is one at a time, and one in each interval.
 */
export class PostgresCommits implements Commits {
  readonly #options: CommitOptions;
  #jobs: Job[] = [];
  #lastAt = Number.NEGATIVE_INFINITY;
  #isScheduled = false;
  #cancel: () => void = () => {};
  /** What goes on. */
  #running: Promise<void> | undefined;
  #closed: Error | undefined;
  transactions = 0;
  round = 0;

  constructor(options: CommitOptions) {
    this.#options = options;
  }

  run<T>(work: (shelf: ShelfWriter) => T, ears: Ears<T> = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.assertOpen();
      this.#jobs.push({ ...ears, work, resolve, reject } as Job);
      this.#schedule();
    });
  }

  assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed;
  }

  get isQuiet(): boolean {
    return this.#running === undefined && this.#jobs.length === 0;
  }

  async flush(): Promise<void> {
    while (!this.isQuiet) {
      if (this.#running === undefined) this.#start();
      await this.#running;
    }
  }

  async close(why: Error): Promise<void> {
    this.#closed = why;
    await this.flush();
    await this.#options.writer.close();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running !== undefined || this.#jobs.length === 0) return;
    const { clock, intervalMs } = this.#options;
    const waitMs = this.#lastAt + intervalMs - clock.now();
    this.#isScheduled = true;
    const start = () => {
      if (this.#isScheduled) this.#start();
    };
    // What is said in one breath goes together. What fills a transaction need not wait for more.
    const isFull = this.#jobs.length >= jobsAtOnce;
    if (intervalMs === 0 || waitMs <= 0 || isFull) return queueMicrotask(start);
    // A clock that was set back must not hold anything up.
    this.#cancel = clock.after(Math.min(waitMs, intervalMs), start);
  }

  #start(): void {
    this.#cancel();
    this.#isScheduled = false;
    if (this.#running !== undefined) return;
    this.#lastAt = this.#options.clock.now();
    const jobs = this.#jobs.splice(0, jobsAtOnce);
    if (jobs.length === 0) return;
    this.#running = this.#commit(jobs).finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
  }

  async #commit(jobs: readonly Job[]): Promise<void> {
    let outcomes: readonly Outcome[];
    this.transactions++;
    try {
      outcomes = await this.#options.writer.transact((fetched) => this.#pass(jobs, fetched));
    } catch (error) {
      // What one does must not take the others with it; where the server is gone, all are.
      const isOnesOwn = this.#options.writer.hasBegun && !isForAll(error);
      if (jobs.length > 1 && isOnesOwn) for (const job of jobs) await this.#commit([job]);
      else for (const job of jobs) refuse(job, error);
      return;
    }
    for (const [index, job] of jobs.entries()) this.#answer(job, outcomes[index]);
  }

  /** All of it once on what is there. Once something is missing, the rest only tells what it misses too. */
  #pass(jobs: readonly Job[], fetched: Fetched): Pass {
    this.round++;
    const draft = new Draft(fetched);
    const outcomes: Outcome[] = [];
    const wants: Want[] = [];
    for (const job of jobs) {
      try {
        if (wants.length === 0) outcomes.push(outcomeOf(job, draft));
        else job.work(draft);
      } catch (error) {
        if (error instanceof Missing) wants.push(error.want);
        // What it says of a draft that lacks something means nothing.
        else if (wants.length === 0) throw error;
      }
    }
    return { wants, draft, outcomes };
  }

  #answer(job: Job, outcome: Outcome | undefined): void {
    const { onPoint } = this.#options;
    if (outcome === undefined || 'error' in outcome) return refuse(job, outcome?.error);
    onPoint?.('before-tell');
    job.tell?.(outcome.value);
    onPoint?.('after-tell');
    job.resolve(outcome.value);
  }
}
