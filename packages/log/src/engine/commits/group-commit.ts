import type { Clock } from '../../contract/clock.ts';
import type { OnCommitPoint, RecordStore, StoreTransaction } from '../../storage/record-store.ts';
import {
  type CommitJob,
  type CommitListener,
  type CommitQueue,
  type JobOutcome,
  rejectJob,
  resolveJob,
  runJob,
  WaitingJobs,
} from './commit-queue.ts';

/** If the store is slow, the interval grows until streamed work takes at most this share of the time. */
const busyShare = 1 / 8;
/** The interval of a slow store is at most this number of times longer than the configured interval. */
const maxStretch = 8;

/**
 * A commit queue for synchronous stores. If the interval since the last transaction has passed, `run` commits
 * before it returns. Under load, all streams of the store share one transaction per interval. All other work
 * shares one transaction per round of the event loop, with a limit for the bytes of blobs.
 */
export class GroupCommit implements CommitQueue {
  readonly #store: RecordStore;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onPoint: OnCommitPoint | undefined;
  readonly #jobs = new WaitingJobs();
  #lastAt = Number.NEGATIVE_INFINITY;
  /**
   * The delay of the scheduled transaction in milliseconds. 0 means the next round of the event loop.
   * Undefined if no transaction is scheduled.
   */
  #scheduledMs: number | undefined;
  /** A moving average of the duration of a transaction, in milliseconds. */
  #costMs = 0;
  #cancel: () => void = () => {};
  /** The reason why the queue accepts no more work. Undefined while it is open. */
  #closed: Error | undefined;
  /** The number of started transactions, including failed transactions. */
  transactions = 0;

  constructor(store: RecordStore, clock: Clock, intervalMs: number, onPoint?: OnCommitPoint) {
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
      const { isStreamed, blobBytes, onCommitted, onFailed, joined } = listener;
      // The literal lists every field, because V8 creates an object literal faster than a copy with `...`.
      const job = { work, resolve, reject, blobBytes, onCommitted, onFailed, joined };
      this.#jobs.push(job as CommitJob);
      this.#schedule(isStreamed === true);
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
    this.#scheduledMs = undefined;
    const transactions: (readonly CommitJob[])[] = [];
    while (this.#jobs.length > 0) transactions.push(this.#jobs.take());
    for (const jobs of transactions) this.#commit(jobs);
  }

  /** Commits one transaction. If it cannot contain all jobs, the next one follows in the next round of the event loop. */
  #commitNext(): void {
    this.#scheduledMs = undefined;
    const jobs = this.#jobs.take();
    const hasMore = this.#jobs.length > 0;
    if (jobs.length > 0) this.#commit(jobs);
    if (hasMore) this.#scheduleIn(0);
  }

  #schedule(isStreamed: boolean): void {
    if (this.#intervalMs === 0) return this.flush();
    if (this.#scheduledMs !== undefined && (isStreamed || this.#scheduledMs === 0)) return;
    const intervalMs = this.#streamIntervalMs;
    const waitMs = this.#lastAt + intervalMs - this.#clock.now();
    if (waitMs <= 0) return this.flush();
    // `Math.min` prevents a long wait if the system clock is set back.
    this.#scheduleIn(isStreamed ? Math.min(waitMs, intervalMs) : 0);
  }

  #scheduleIn(delayMs: number): void {
    this.#scheduledMs = delayMs;
    this.#cancel();
    this.#cancel = this.#clock.after(delayMs, () => this.#commitNext());
  }

  /**
   * The time between two transactions of streamed work. It is longer than the configured interval if the
   * store is slow.
   */
  get #streamIntervalMs(): number {
    const longestMs = this.#intervalMs * maxStretch;
    return Math.min(longestMs, Math.max(this.#intervalMs, this.#costMs / busyShare));
  }

  /**
   * Updates the average duration after a transaction. A duration counts as at most the interval, because a
   * change of the system clock can make it look longer.
   */
  #noteEnd(startedAt: number): void {
    if (this.#intervalMs === 0) return;
    this.#lastAt = this.#clock.now();
    const ms = Math.min(Math.max(0, this.#lastAt - startedAt), this.#intervalMs);
    this.#costMs += (ms - this.#costMs) / 8;
  }

  #commit(jobs: readonly CommitJob[]): void {
    let outcomes: readonly JobOutcome[] = [];
    let hasBegun = false;
    this.transactions++;
    const startedAt = this.#intervalMs === 0 ? 0 : this.#clock.now();
    try {
      outcomes = this.#store.transact((tx) => {
        hasBegun = true;
        return jobs.map((job) => runJob(job, tx));
      });
    } catch (error) {
      // A failing job must not fail other jobs, so each job is retried alone. If the transaction could not
      // even begin, a retry would fail too.
      if (hasBegun && jobs.length > 1) for (const job of jobs) this.#commit([job]);
      else for (const job of jobs) rejectJob(job, error);
      return;
    } finally {
      this.#noteEnd(startedAt);
    }
    for (let index = 0; index < jobs.length; index++) this.#answer(jobs[index], outcomes[index]);
  }

  #answer(job: CommitJob | undefined, outcome: JobOutcome | undefined): void {
    if (job === undefined) return;
    if (outcome === undefined || 'error' in outcome) return rejectJob(job, outcome?.error);
    this.#onPoint?.('before-tell');
    job.onCommitted?.(outcome.value);
    this.#onPoint?.('after-tell');
    resolveJob(job, outcome.value);
  }
}
