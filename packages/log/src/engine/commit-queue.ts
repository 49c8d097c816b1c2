import { isMillraceError, type SessionId } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import type { OnCommitPoint, RecordStore, StoreTransaction } from '../storage/record-store.ts';

/**
 * Options and callbacks for one piece of work. The callbacks run synchronously, before the promise of the
 * work settles.
 */
export interface CommitListener<T> {
  /**
   * True if the work is part of a stream and can wait for the commit interval. Default: false, which means
   * that a caller waits for the work, so it is committed in the next round of the event loop.
   */
  readonly isStreamed?: boolean;
  /**
   * The session that the work reads and writes. With it, a store can fetch the session's row first.
   * Default: unknown.
   */
  readonly session?: SessionId;
  /** The length of the blob that the work stores, in bytes. Default: 0. */
  readonly blobBytes?: number;
  /** Called after the commit. It must not throw. */
  readonly onCommitted?: (value: T) => void;
  /** Called if the work was refused or could not be stored. The queue may call it twice. */
  readonly onFailed?: (error: unknown) => void;
  /** Calls that joined this work. The queue answers them after the call that started it. Default: none. */
  readonly joined?: JoinedWork | undefined;
}

/** Several calls that one piece of work answers. */
export interface JoinedWork {
  /** The number of calls, including the call that started the work. */
  readonly count: number;
  /** Answers the calls that joined, in order. The queue calls it after the commit. */
  resolve(): void;
  reject(error: unknown): void;
}

/** Collects work that arrives together and runs it in one transaction. */
export interface CommitQueue {
  /** The number of transactions since the queue was created, for measurements. */
  readonly transactions: number;
  /** A number that changes each time the queued work is executed, even if an execution failed. */
  readonly round: number;
  /**
   * Runs the work in a transaction and resolves after the commit. If the work throws a Millrace error, it
   * must not have written anything before the error. The transaction then still commits the work of other
   * callers. The queue may execute the work again from the start.
   */
  run<T>(work: (tx: StoreTransaction) => T, listener?: CommitListener<T>): Promise<T>;
  assertOpen(): void;
  /** Commits the queued work immediately. Returns a promise if the store is asynchronous. */
  flush(): void | Promise<void>;
  /** Commits the queued work and accepts no more work. */
  close(why: Error): void | Promise<void>;
}

export interface CommitJob extends CommitListener<unknown> {
  readonly work: (tx: StoreTransaction) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export type JobOutcome = { readonly value: unknown } | { readonly error: unknown };

export function rejectJob({ onFailed, reject, joined }: CommitJob, error: unknown): void {
  onFailed?.(error);
  reject(error);
  joined?.reject(error);
}

export function resolveJob({ resolve, joined }: CommitJob, value: unknown): void {
  resolve(value);
  // The answers keep the order of the calls, even if the next job of the same transaction is a later call.
  joined?.resolve();
}

/**
 * Executes one job. If the job throws a refusal, only this job fails. Any other error comes from the store,
 * and fails the whole transaction.
 */
export function runJob({ work, onFailed }: CommitJob, tx: StoreTransaction): JobOutcome {
  try {
    return { value: work(tx) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Calls `onFailed` now, so that later work of the same writer in this transaction is refused too.
    onFailed?.(error);
    return { error };
  }
}

/** Returns whether the error is about the caller's request and not about the store. */
export function isRefusal(error: unknown): boolean {
  return isMillraceError(error) && !storeFailures.has(error.code);
}

const storeFailures: ReadonlySet<string> = new Set(['storage', 'storage_full', 'corrupt']);

/** If the store is slow, the interval grows until streamed work takes at most this share of the time. */
const busyShare = 1 / 8;
/** The interval of a slow store is at most this number of times longer than the configured interval. */
const maxStretch = 8;

/**
 * A commit queue for synchronous stores. If the interval since the last transaction has passed, `run` commits
 * before it returns. Under load, all streams of the store share one transaction per interval. All other work
 * shares one transaction per round of the event loop.
 */
export class GroupCommit implements CommitQueue {
  readonly #store: RecordStore;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onPoint: OnCommitPoint | undefined;
  #jobs: CommitJob[] = [];
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
      const { isStreamed, onCommitted, onFailed, joined } = listener;
      // The literal lists every field, because V8 creates an object literal faster than a copy with `...`.
      this.#jobs.push({ work, resolve, reject, onCommitted, onFailed, joined } as CommitJob);
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
    // `Math.min` prevents a long wait if the system clock is set back.
    this.#scheduledMs = isStreamed ? Math.min(waitMs, intervalMs) : 0;
    this.#cancel();
    this.#cancel = this.#clock.after(this.#scheduledMs, () => this.flush());
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
