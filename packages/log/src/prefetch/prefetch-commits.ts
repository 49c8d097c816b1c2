import type { Clock } from '../contract/clock.ts';
import {
  type CommitJob,
  type CommitListener,
  type CommitQueue,
  countShort,
  type JobOutcome,
  rejectJob,
  resolveJob,
  runJob,
  WaitingJobs,
} from '../engine/commits/commit-queue.ts';
import type { OnCommitPoint, StoreTransaction } from '../storage/record-store.ts';

import { type FetchedRows, NotFetched, type RowRequest } from './fetched-rows.ts';
import { TransactionDraft } from './transaction-draft.ts';

/**
 * The result of running the work on the fetched rows. It contains requests for missing rows, or the draft
 * to write.
 */
export interface WorkPass {
  readonly requests: readonly RowRequest[];
  readonly draft: TransactionDraft;
  readonly outcomes: readonly JobOutcome[];
}

/** Runs transactions in a store that answers asynchronously. */
export interface PrefetchWriter {
  /**
   * True if the last transaction could begin. If it could not begin, the work cannot be the cause of a
   * failure.
   */
  readonly hasBegun: boolean;
  /**
   * Runs one transaction. It fetches the requested rows and runs the work again until no row is missing.
   * Then it writes the draft.
   */
  transact(work: (fetched: FetchedRows) => WorkPass): Promise<readonly JobOutcome[]>;
  /** Returns whether all other work would fail for the same reason. In that case, a retry is useless. */
  affectsAllWrites(error: unknown): boolean;
  close(): Promise<void>;
}

interface CommitOptions {
  readonly writer: PrefetchWriter;
  readonly clock: Clock;
  /** Minimum time between the starts of two transactions, in milliseconds. */
  readonly intervalMs: number;
  readonly onPoint?: OnCommitPoint | undefined;
}

/**
 * Returns how many of the next jobs fit into one transaction. A job without a known session counts as one
 * session.
 */
function countThatFit(jobs: readonly CommitJob[]): number {
  const sessions = new Set<unknown>();
  let calls = 0;
  const end = jobs.findIndex(({ session, joined }, index) => {
    sessions.add(session ?? index);
    calls += joined?.count ?? 1;
    return calls > maxCallsPerTransaction || sessions.size > maxSessionsPerTransaction;
  });
  return Math.min(countShort(jobs), end < 0 ? jobs.length : Math.max(1, end));
}

const isStreamedJob = ({ isStreamed }: CommitJob): boolean => isStreamed === true;

/**
 * Maximum number of calls whose work is in one transaction. It limits the duration of a transaction. The
 * number can be large, because several appends to one session become one row.
 */
const maxCallsPerTransaction = 16_384;
/** Maximum number of sessions in a transaction. It limits the number of locks. */
const maxSessionsPerTransaction = 1024;
/**
 * A commit queue for stores that answer asynchronously. It runs one transaction at a time, with the work of
 * all sessions of this process. Streamed text waits for the interval. All other work starts the next
 * transaction as soon as the previous transaction has ended.
 */
export class PrefetchCommitQueue implements CommitQueue {
  readonly #options: CommitOptions;
  readonly #jobs = new WaitingJobs(countThatFit);
  #lastAt = Number.NEGATIVE_INFINITY;
  /** The delay of the scheduled transaction in milliseconds. Undefined if no transaction is scheduled. */
  #scheduledMs: number | undefined;
  #cancel: () => void = () => {};
  /** The transaction that runs now. */
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
      const { isStreamed = false, session, blobBytes = 0 } = listener;
      const { onCommitted, onFailed, joined } = listener;
      const about = { isStreamed, session, blobBytes, onCommitted, onFailed, joined };
      this.#jobs.push({ ...about, work, resolve, reject } as CommitJob);
      this.#schedule(isStreamed);
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

  #schedule(isStreamed: boolean): void {
    if (this.#running !== undefined || this.#scheduledMs === 0) return;
    const isWaiting = this.#scheduledMs !== undefined;
    // If there are enough jobs for a full transaction, the transaction starts without waiting.
    const isFull = this.#jobs.length >= maxCallsPerTransaction;
    if (isWaiting && isStreamed && !isFull) return;
    const { clock, intervalMs } = this.#options;
    const waitMs = isStreamed && !isFull ? this.#lastAt + intervalMs - clock.now() : 0;
    this.#cancel();
    // `Math.min` prevents a long wait if the system clock is set back.
    this.#scheduledMs = Math.max(0, Math.min(waitMs, intervalMs));
    const start = () => {
      if (this.#scheduledMs !== undefined) this.#start();
    };
    // Calls from the same round of the event loop share a transaction.
    if (intervalMs === 0) queueMicrotask(start);
    else this.#cancel = clock.after(this.#scheduledMs, start);
  }

  #start(): void {
    this.#cancel();
    this.#cancel = () => {};
    this.#scheduledMs = undefined;
    if (this.#running !== undefined) return;
    this.#lastAt = this.#options.clock.now();
    const jobs = this.#jobs.take();
    if (jobs.length === 0) return;
    this.#running = this.#commit(jobs).finally(() => {
      this.#running = undefined;
      if (this.#jobs.length > 0) this.#schedule(this.#jobs.every(isStreamedJob));
    });
  }

  async #commit(jobs: readonly CommitJob[]): Promise<void> {
    let outcomes: readonly JobOutcome[];
    this.transactions++;
    try {
      outcomes = await this.#options.writer.transact((fetched) => this.#pass(jobs, fetched));
    } catch (error) {
      // A failing job must not fail other jobs, so each job is retried alone. If the store is unreachable,
      // all jobs fail.
      const { writer } = this.#options;
      const isOnesOwn = writer.hasBegun && !writer.affectsAllWrites(error);
      if (jobs.length > 1 && isOnesOwn) for (const job of jobs) await this.#commit([job]);
      else for (const job of jobs) rejectJob(job, error);
      return;
    }
    for (const [index, job] of jobs.entries()) this.#answer(job, outcomes[index]);
  }

  /**
   * Runs all jobs on the fetched rows. After the first missing row, the remaining jobs run only to collect
   * their requests for rows.
   */
  #pass(jobs: readonly CommitJob[], fetched: FetchedRows): WorkPass {
    this.round++;
    const draft = new TransactionDraft(fetched);
    const outcomes: JobOutcome[] = [];
    const requests: RowRequest[] = [];
    for (const job of jobs) {
      const { session } = job;
      if (session !== undefined && !fetched.sessions.has(session)) {
        requests.push({ what: 'session', session });
        continue;
      }
      try {
        if (requests.length === 0) outcomes.push(runJob(job, draft));
        else job.work(draft);
      } catch (error) {
        if (error instanceof NotFetched) requests.push(error.request);
        // After a missing row, the draft is incomplete, and an error of a job can be caused by this. The
        // error is ignored, because all jobs run again.
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
    resolveJob(job, outcome.value);
  }
}
