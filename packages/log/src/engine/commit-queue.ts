import { isMillraceError, type SessionId } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import type { OnCommitPoint, RecordStore, StoreTransaction } from '../storage/record-store.ts';

/**
 * Callbacks about one piece of work. They run synchronously, before the promise of the work
 * settles.
 */
export interface CommitListener<T> {
  /**
   * The work is a part of a stream and can wait for the interval. Default: false, the work is committed
   * in the next round of the event loop, because somebody waits for it.
   */
  readonly isStreamed?: boolean;
  /** The session that the work reads and writes, so that a store can fetch its row first. Default: unknown. */
  readonly session?: SessionId;
  /** Called after the commit. It must not throw. */
  readonly onCommitted?: (value: T) => void;
  /** Called if the work was refused or could not be stored. May be called twice. */
  readonly onFailed?: (error: unknown) => void;
}

/** Collects work that arrives together and runs it in one transaction. */
export interface CommitQueue {
  /** Number of transactions so far, for measurements. */
  readonly transactions: number;
  /** Changes each time that work is executed, whether or not the previous execution succeeded. */
  readonly round: number;
  /**
   * Runs the work in a transaction and resolves after the commit. Work that throws a Millrace error
   * must not have written anything before it throws; the other work of the transaction is still
   * committed. The work may be executed again from the start.
   */
  run<T>(work: (tx: StoreTransaction) => T, listener?: CommitListener<T>): Promise<T>;
  assertOpen(): void;
  /** Commits queued work now. Returns a promise if that takes time. */
  flush(): void | Promise<void>;
  /** Commits queued work and accepts no more. */
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

/**
 * Executes one job. A refusal fails only this job. Any other error comes from the store and fails
 * the whole transaction.
 */
export function runJob({ work, onFailed }: CommitJob, tx: StoreTransaction): JobOutcome {
  try {
    return { value: work(tx) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Called now, so that later work of the same writer in this transaction sees the failure.
    onFailed?.(error);
    return { error };
  }
}

/** True if the error is about the caller's request and not about the store. */
export function isRefusal(error: unknown): boolean {
  return isMillraceError(error) && !storeFailures.has(error.code);
}

const storeFailures: ReadonlySet<string> = new Set(['storage', 'storage_full', 'corrupt']);

/** If the store is slow, the interval grows until streamed work takes only this share of the time. */
const busyShare = 1 / 8;
/** A slow store makes the interval at most this many times longer. */
const maxStretch = 8;

/**
 * A commit queue for synchronous stores. The first work is committed before `run` returns. Under
 * load there is one transaction per interval for the streams of the whole store, and one per round of
 * the event loop for all other work.
 */
export class GroupCommit implements CommitQueue {
  readonly #store: RecordStore;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onPoint: OnCommitPoint | undefined;
  #jobs: CommitJob[] = [];
  #lastAt = Number.NEGATIVE_INFINITY;
  /** How long the next transaction waits, if it is scheduled. 0: until the next round of the event loop. */
  #scheduledMs: number | undefined;
  /** A moving average of the duration of a transaction. */
  #costMs = 0;
  #cancel: () => void = () => {};
  /** The reason why no more work is accepted. */
  #closed: Error | undefined;
  /** Number of transactions that were started. Each one gets its own number, even if it fails. */
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
      const { isStreamed, onCommitted, onFailed } = listener;
      // Lists every field, because V8 creates an object literal faster than it copies an object.
      this.#jobs.push({ work, resolve, reject, onCommitted, onFailed } as CommitJob);
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
    const jobs = this.#jobs;
    this.#jobs = [];
    if (jobs.length > 0) this.#commit(jobs);
  }

  #schedule(isStreamed: boolean): void {
    if (this.#intervalMs === 0) return this.flush();
    if (this.#scheduledMs !== undefined && (isStreamed || this.#scheduledMs === 0)) return;
    const intervalMs = this.#streamIntervalMs;
    const waitMs = this.#lastAt + intervalMs - this.#clock.now();
    if (waitMs <= 0) return this.flush();
    // The minimum prevents a long wait if the system clock is set back.
    this.#scheduledMs = isStreamed ? Math.min(waitMs, intervalMs) : 0;
    this.#cancel();
    this.#cancel = this.#clock.after(this.#scheduledMs, () => this.flush());
  }

  /** The interval, or longer if the store is slow. */
  get #streamIntervalMs(): number {
    const longestMs = this.#intervalMs * maxStretch;
    return Math.min(longestMs, Math.max(this.#intervalMs, this.#costMs / busyShare));
  }

  /** Times of a clock that is set meanwhile count as the interval at most. */
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
      // One failing job must not fail the others, so each is retried alone. If the transaction
      // could not begin, retrying alone would fail too.
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
    job.resolve(outcome.value);
  }
}
