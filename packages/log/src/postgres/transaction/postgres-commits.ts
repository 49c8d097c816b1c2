import type { Clock } from '../../contract/clock.ts';
import {
  type CommitJob,
  type CommitListener,
  type CommitQueue,
  type JobOutcome,
  rejectJob,
  runJob,
} from '../../engine/commit-queue.ts';
import type { OnPoint, StoreTransaction } from '../../storage/record-store.ts';
import { affectsAllWrites } from '../database/storage-error.ts';
import { TransactionDraft } from './draft.ts';
import { type FetchedRows, NotFetchedError, type RowRequest } from './fetched-rows.ts';
import type { PostgresWriter, WorkPass } from './writer.ts';

interface CommitOptions {
  readonly writer: PostgresWriter;
  readonly clock: Clock;
  /** From the beginning of one transaction to that of the next, at least. */
  readonly intervalMs: number;
  readonly onPoint?: OnPoint | undefined;
}

/** So that a transaction stays short, and does not need more locks than a server has to give. */
const maxJobsPerTransaction = 1024;

/**
 * Puts what comes at once, of all sessions of this process, into one transaction. The first is begun
 * at once; then there is one at a time, and one in each interval.
 */
export class PostgresCommitQueue implements CommitQueue {
  readonly #options: CommitOptions;
  #jobs: CommitJob[] = [];
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

  run<T>(work: (tx: StoreTransaction) => T, listener: CommitListener<T> = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.assertOpen();
      this.#jobs.push({ ...listener, work, resolve, reject } as CommitJob);
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
    const isFull = this.#jobs.length >= maxJobsPerTransaction;
    if (intervalMs === 0 || waitMs <= 0 || isFull) return queueMicrotask(start);
    // A clock that was set back must not hold anything up.
    this.#cancel = clock.after(Math.min(waitMs, intervalMs), start);
  }

  #start(): void {
    this.#cancel();
    this.#isScheduled = false;
    if (this.#running !== undefined) return;
    this.#lastAt = this.#options.clock.now();
    const jobs = this.#jobs.splice(0, maxJobsPerTransaction);
    if (jobs.length === 0) return;
    this.#running = this.#commit(jobs).finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
  }

  async #commit(jobs: readonly CommitJob[]): Promise<void> {
    let outcomes: readonly JobOutcome[];
    this.transactions++;
    try {
      outcomes = await this.#options.writer.transact((fetched) => this.#pass(jobs, fetched));
    } catch (error) {
      // What one does must not take the others with it; where the server is gone, all are.
      const isOnesOwn = this.#options.writer.hasBegun && !affectsAllWrites(error);
      if (jobs.length > 1 && isOnesOwn) for (const job of jobs) await this.#commit([job]);
      else for (const job of jobs) rejectJob(job, error);
      return;
    }
    for (const [index, job] of jobs.entries()) this.#answer(job, outcomes[index]);
  }

  /** All of it once on what is there. Once something is missing, the rest only tells what it misses too. */
  #pass(jobs: readonly CommitJob[], fetched: FetchedRows): WorkPass {
    this.round++;
    const draft = new TransactionDraft(fetched);
    const outcomes: JobOutcome[] = [];
    const requests: RowRequest[] = [];
    for (const job of jobs) {
      try {
        if (requests.length === 0) outcomes.push(runJob(job, draft));
        else job.work(draft);
      } catch (error) {
        if (error instanceof NotFetchedError) requests.push(error.request);
        // What it says of a draft that lacks something means nothing.
        else if (requests.length === 0) throw error;
      }
    }
    return { requests: requests, draft, outcomes };
  }

  #answer(job: CommitJob, outcome: JobOutcome | undefined): void {
    const { onPoint } = this.#options;
    if (outcome === undefined || 'error' in outcome) return rejectJob(job, outcome?.error);
    onPoint?.('before-tell');
    job.onCommitted?.(outcome.value);
    onPoint?.('after-tell');
    job.resolve(outcome.value);
  }
}
