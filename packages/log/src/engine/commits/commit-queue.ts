import { isMillraceError, type SessionId } from '@millrace/core';
import type { StoreTransaction } from '../../storage/record-store.ts';

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

/** Maximum number of bytes of all blobs in a transaction, if it has more than one job. */
const maxBlobBytesPerTransaction = 2_097_152;
/** A longer blob is committed in a transaction without other work. */
const maxSmallBlobBytes = 65_536;

/** Returns how many of the next jobs fit into one transaction. At least one job fits. */
type CountJobs = (jobs: readonly CommitJob[]) => number;

/**
 * The jobs that wait for a transaction.
 *
 * Storing a long blob takes time, and all other work waits for its transaction. So transactions with long blobs
 * are short, and they alternate with transactions of other work. Other work then waits for at most one of them.
 * No work depends on the order: a blob and the records that refer to it can be committed in any order.
 */
export class WaitingJobs {
  readonly #count: CountJobs;
  readonly #others: CommitJob[] = [];
  /** The jobs with long blobs. */
  readonly #longBlobs: CommitJob[] = [];
  #lastHadLongBlobs = false;

  constructor(count: CountJobs = countShort) {
    this.#count = count;
  }

  get length(): number {
    return this.#others.length + this.#longBlobs.length;
  }

  every(has: (job: CommitJob) => boolean): boolean {
    return this.#others.every(has) && this.#longBlobs.every(has);
  }

  push(job: CommitJob): void {
    const { blobBytes = 0 } = job;
    (blobBytes > maxSmallBlobBytes ? this.#longBlobs : this.#others).push(job);
  }

  /** Removes the jobs of the next transaction. */
  take(): readonly CommitJob[] {
    const isOther = this.#lastHadLongBlobs && this.#others.length > 0;
    this.#lastHadLongBlobs = this.#longBlobs.length > 0 && !isOther;
    const jobs = this.#lastHadLongBlobs ? this.#longBlobs : this.#others;
    return jobs.splice(0, this.#count(jobs));
  }
}

/** Returns how many of the next jobs fit into one transaction with all their blobs. */
export function countShort(jobs: readonly CommitJob[]): number {
  let bytes = 0;
  const end = jobs.findIndex(({ blobBytes = 0 }) => {
    bytes += blobBytes;
    return bytes > maxBlobBytesPerTransaction;
  });
  return end < 0 ? jobs.length : Math.max(1, end);
}
