import type { Batch } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import type { FollowOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { Awaitable } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { isIdle } from '../storage/session-row.ts';
import { SessionFeed } from './feed.ts';

/** Where a feed comes from, for a reader who gives it back. */
interface FeedSource {
  /** Calls `wake` at each change. Throws where there is nothing to follow. */
  readonly join: (wake: () => void) => Awaitable<SessionFeed>;
  readonly leave: (feed: SessionFeed, wake: () => void) => void;
  readonly isClosed: () => boolean;
  readonly clock: Clock;
}

/** After so many batches that were there already, others in the process come to their turn. */
const maxBatchesWithoutPause = 8;

const finished = { done: true, value: undefined } as const;

/**
 * Catches up from the cursor, then goes on with what comes, until it is told to end or its reader
 * leaves: `return()` and `throw()` end what `next()` waits for. Nothing starts before the first batch
 * is asked for. It is no generator, because every batch of every session passes through here.
 */
export class FeedIterator implements AsyncIterableIterator<Batch, undefined, undefined> {
  readonly #options: FollowOptions;
  readonly #source: FeedSource;
  #feed: SessionFeed | undefined;
  #cursor: number;
  #hadCaughtUp = false;
  /** Nobody who waits is late, however much comes at once. */
  #wasWaiting = false;
  #batchesSincePause = 0;
  #isFinished = false;
  /** How many batches were asked for and not given: each waits for the one before. */
  #pendingCalls = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Ends what is waited for; a pause, or what a store is asked for, is not ended by a change. */
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
        // Of a store on this machine both are there at once, and nothing is waited for.
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

  // Made once for all batches.
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

  /** What comes next, if it is there. */
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

  /** What a store elsewhere answers; undefined where the reader leaves before it does. */
  async #unlessEnded<T>(coming: Promise<T>): Promise<T | undefined> {
    this.#isPausing = true;
    try {
      const answer = await Promise.race([coming, new Promise<void>(this.#waitForResume)]);
      return answer === undefined || this.#isFinished ? undefined : answer;
    } catch (error) {
      // A store that is closed meanwhile has no answer: that is an end, and no failure.
      if (this.#source.isClosed()) return this.#finish();
      throw error;
    } finally {
      this.#isPausing = false;
    }
  }

  /** For a moment, or until the reader leaves. */
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
  const message = `Cannot follow session ${session} any longer: its reader is ${lag} records behind offset ${cursor}. Follow again from there`;
  return new LogError('lagged', message, { session, cursor, lag });
}
