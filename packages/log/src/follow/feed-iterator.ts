import type { Batch } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import type { FollowOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { Awaitable } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { isIdle } from '../storage/session-row.ts';
import { SessionFeed } from './feed.ts';

/** Functions with which the iterator gets its feed and returns it. */
interface FeedSource {
  /**
   * Returns the feed of the session and registers `wake`, which the feed calls at each change. Throws if the
   * session does not exist.
   */
  readonly join: (wake: () => void) => Awaitable<SessionFeed>;
  readonly leave: (feed: SessionFeed, wake: () => void) => void;
  readonly isClosed: () => boolean;
  readonly clock: Clock;
}

/** After this number of batches without a wait, the iterator lets other work of the process run. */
const maxBatchesWithoutPause = 8;

const finished = { done: true, value: undefined } as const;

/**
 * Follows one session. It returns the stored records after the cursor, and then new records. The iteration
 * ends at `until`, on abort, or when the reader calls `return()` or `throw()`. These calls also end a pending
 * `next()`. The iterator reads nothing before the first `next()`. The class is not an async generator,
 * because a generator is slower, and all batches of all sessions pass through this code.
 */
export class FeedIterator implements AsyncIterableIterator<Batch, undefined, undefined> {
  readonly #options: FollowOptions;
  readonly #source: FeedSource;
  #feed: SessionFeed | undefined;
  #cursor: number;
  #hadCaughtUp = false;
  /**
   * True if the reader was waiting for records. A waiting reader never exceeds `maxLag`, even if many records
   * arrive at the same time.
   */
  #wasWaiting = false;
  #batchesSincePause = 0;
  #isFinished = false;
  /** The number of `next()` calls without an answer. Each call waits for the previous call. */
  #pendingCalls = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Ends the current wait for records. New records do not end a pause or a pending read of the store. */
  #resume: (() => void) | undefined;
  #isPausing = false;

  constructor(options: FollowOptions, source: FeedSource) {
    this.#options = options;
    this.#source = source;
    this.#cursor = options.from ?? 0;
  }

  next(): Promise<IteratorResult<Batch, undefined>> {
    const isAlone = this.#pendingCalls++ === 0;
    const next = isAlone ? this.#advance() : this.#last.then(this.#continue, this.#continue);
    this.#last = next;
    return next;
  }

  async return(): Promise<IteratorResult<Batch, undefined>> {
    this.#finish();
    return finished;
  }

  async throw(error: unknown): Promise<IteratorResult<Batch, undefined>> {
    this.#finish();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #advance(): Promise<IteratorResult<Batch, undefined>> {
    try {
      if (this.#batchesSincePause === maxBatchesWithoutPause) await this.#pause();
      while (!this.#isFinished) {
        const feed = this.#feed ?? this.#join();
        // A synchronous store answers immediately, so no `await` is needed.
        const found = feed instanceof Promise ? this.#unlessEnded(feed) : this.#nextBatch(feed);
        const batch = found instanceof Promise ? await found : found;
        if (batch instanceof SessionFeed) continue;
        if (batch !== undefined) return { done: false, value: batch };
        if (this.#isFinished) break;
        await new Promise<void>(this.#waitForResume);
        this.#wasWaiting = true;
        this.#batchesSincePause = 0;
      }
      return finished;
    } catch (error) {
      this.#finish();
      throw error;
    } finally {
      this.#pendingCalls--;
    }
  }

  // This function is created once, because it is used for all batches.
  readonly #continue = () => this.#advance();
  readonly #waitForResume = (resume: () => void): void => {
    this.#resume = resume;
  };
  readonly #wake = (): void => {
    if (!this.#isPausing) this.#resume?.();
  };
  readonly #finish = (): undefined => {
    const feed = this.#feed;
    this.#isFinished = true;
    this.#feed = undefined;
    this.#options.signal?.removeEventListener('abort', this.#finish);
    if (feed !== undefined) this.#source.leave(feed, this.#wake);
    this.#resume?.();
  };

  #join(): Awaitable<SessionFeed> {
    const feed = this.#source.join(this.#wake);
    this.#options.signal?.addEventListener('abort', this.#finish);
    if (feed instanceof Promise) return feed.then((joined) => this.#keep(joined));
    return this.#keep(feed);
  }

  #keep(feed: SessionFeed): SessionFeed {
    if (this.#isFinished) this.#source.leave(feed, this.#wake);
    else this.#feed = feed;
    return feed;
  }

  /** Returns the next batch. Returns `undefined` if there is no batch yet, or if the iteration has ended. */
  #nextBatch(feed: SessionFeed): Awaitable<Batch | undefined> {
    const { signal, maxLag = Number.POSITIVE_INFINITY } = this.#options;
    if (signal?.aborted || this.#source.isClosed()) return this.#finish();
    const cursor = this.#cursor;
    const batch = feed.batchAfter(cursor);
    const { row } = feed;
    const isLate = this.#hadCaughtUp && !this.#wasWaiting && row.through - cursor > maxLag;
    if (isLate) {
      if (batch instanceof Promise) batch.catch(() => {});
      throw laggedError(row.session, cursor, row.through - cursor);
    }
    this.#wasWaiting = false;
    if (batch instanceof Promise)
      return this.#unlessEnded(batch).then((loaded) => loaded && this.#deliver(loaded));
    return batch === undefined ? this.#atEnd(row) : this.#deliver(batch);
  }

  #deliver(batch: Batch): Batch {
    this.#cursor = batch.through;
    this.#batchesSincePause++;
    return batch;
  }

  #atEnd(row: SessionRow): undefined {
    const { until } = this.#options;
    this.#hadCaughtUp = true;
    const isEnd = row.isClosed || (until === 'idle' && isIdle(row));
    return until !== undefined && isEnd ? this.#finish() : undefined;
  }

  /**
   * Awaits the answer of an asynchronous store. Returns `undefined` if the reader ends the
   * iteration first.
   */
  async #unlessEnded<T>(coming: Promise<T>): Promise<T | undefined> {
    this.#isPausing = true;
    try {
      const answer = await Promise.race([coming, new Promise<void>(this.#waitForResume)]);
      return answer === undefined || this.#isFinished ? undefined : answer;
    } catch (error) {
      // If the store was closed during the read, the iteration ends without an error.
      if (this.#source.isClosed()) return this.#finish();
      throw error;
    } finally {
      this.#isPausing = false;
    }
  }

  /** Lets other work of the process run. It ends early if the reader ends the iteration. */
  async #pause(): Promise<void> {
    this.#isPausing = true;
    const cancel = this.#source.clock.after(0, () => this.#resume?.());
    await new Promise<void>(this.#waitForResume);
    cancel();
    this.#isPausing = false;
    this.#batchesSincePause = 0;
  }
}

function laggedError(session: string, cursor: number, lag: number): LogError {
  const message = `Cannot continue to follow session ${session}: the reader at offset ${cursor} is ${lag} records behind. Follow again from that offset`;
  return new LogError('lagged', message, { session, cursor, lag });
}
