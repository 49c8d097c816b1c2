import type { Batch } from '@millrace/core';
import type { Clock } from '../contract/clock.ts';
import type { FollowOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { Awaitable } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { isIdle } from '../storage/session-row.ts';
import { Feed } from './feed.ts';

/** Where a feed comes from, for a reader who gives it back. */
interface FeedSource {
  /** Calls `wake` at each change. Throws where there is nothing to follow. */
  readonly join: (wake: () => void) => Awaitable<Feed>;
  readonly leave: (feed: Feed, wake: () => void) => void;
  readonly isClosed: () => boolean;
  readonly clock: Clock;
}

/** After so many batches that were there already, others in the process come to their turn. */
const batchesAtOnce = 8;

const over = { done: true, value: undefined } as const;

/**
 * Catches up from the cursor, then goes on with what comes, until it is told to end or its reader
 * leaves: `return()` and `throw()` end what `next()` waits for. Nothing starts before the first batch
 * is asked for. It is no generator, because every batch of every session passes through here.
 */
export class FeedIterator implements AsyncIterableIterator<Batch, undefined, undefined> {
  readonly #options: FollowOptions;
  readonly #source: FeedSource;
  #feed: Feed | undefined;
  #cursor: number;
  #hadCaughtUp = false;
  /** Nobody who waits is late, however much comes at once. */
  #wasWaiting = false;
  #atOnce = 0;
  #isOver = false;
  /** How many batches were asked for and not given: each waits for the one before. */
  #asked = 0;
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
    const isAlone = this.#asked++ === 0;
    const next = isAlone ? this.#advance() : this.#last.then(this.#goOn, this.#goOn);
    this.#last = next;
    return next;
  }

  async return(): Promise<IteratorResult<Batch, undefined>> {
    this.#finish();
    return over;
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
      if (this.#atOnce === batchesAtOnce) await this.#pause();
      while (!this.#isOver) {
        const feed = this.#feed ?? this.#join();
        // Of a store on this machine both are there at once, and nothing is waited for.
        const found = feed instanceof Promise ? this.#unlessLeft(feed) : this.#find(feed);
        const batch = found instanceof Promise ? await found : found;
        if (batch instanceof Feed) continue;
        if (batch !== undefined) return { done: false, value: batch };
        if (this.#isOver) break;
        await new Promise<void>(this.#hold);
        this.#wasWaiting = true;
        this.#atOnce = 0;
      }
      return over;
    } catch (error) {
      this.#finish();
      throw error;
    } finally {
      this.#asked--;
    }
  }

  // Made once for all batches.
  readonly #goOn = () => this.#advance();
  readonly #hold = (resume: () => void): void => {
    this.#resume = resume;
  };
  readonly #wake = (): void => {
    if (!this.#isPausing) this.#resume?.();
  };
  readonly #finish = (): undefined => {
    const feed = this.#feed;
    this.#isOver = true;
    this.#feed = undefined;
    this.#options.signal?.removeEventListener('abort', this.#finish);
    if (feed !== undefined) this.#source.leave(feed, this.#wake);
    this.#resume?.();
  };

  #join(): Awaitable<Feed> {
    const feed = this.#source.join(this.#wake);
    this.#options.signal?.addEventListener('abort', this.#finish);
    if (feed instanceof Promise) return feed.then((joined) => this.#keep(joined));
    return this.#keep(feed);
  }

  #keep(feed: Feed): Feed {
    if (this.#isOver) this.#source.leave(feed, this.#wake);
    else this.#feed = feed;
    return feed;
  }

  /** What comes next, if it is there. */
  #find(feed: Feed): Awaitable<Batch | undefined> {
    const { signal, maxLag = Number.POSITIVE_INFINITY } = this.#options;
    if (signal?.aborted || this.#source.isClosed()) return this.#finish();
    const cursor = this.#cursor;
    const batch = feed.after(cursor);
    const { row } = feed;
    const isLate = this.#hadCaughtUp && !this.#wasWaiting && row.through - cursor > maxLag;
    if (isLate) {
      if (batch instanceof Promise) batch.catch(() => {});
      throw lagged(row.session, cursor, row.through - cursor);
    }
    this.#wasWaiting = false;
    if (batch instanceof Promise)
      return this.#unlessLeft(batch).then((loaded) => loaded && this.#take(loaded));
    return batch === undefined ? this.#atEnd(row) : this.#take(batch);
  }

  #take(batch: Batch): Batch {
    this.#cursor = batch.through;
    this.#atOnce++;
    return batch;
  }

  #atEnd(row: SessionRow): undefined {
    const { until } = this.#options;
    this.#hadCaughtUp = true;
    const isEnd = row.isClosed || (until === 'idle' && isIdle(row));
    return until !== undefined && isEnd ? this.#finish() : undefined;
  }

  /** What a store elsewhere answers; undefined where the reader leaves before it does. */
  async #unlessLeft<T>(coming: Promise<T>): Promise<T | undefined> {
    this.#isPausing = true;
    try {
      const answer = await Promise.race([coming, new Promise<void>(this.#hold)]);
      return answer === undefined || this.#isOver ? undefined : answer;
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
    await new Promise<void>(this.#hold);
    cancel();
    this.#isPausing = false;
    this.#atOnce = 0;
  }
}

function lagged(session: string, cursor: number, lag: number): LogError {
  const message = `Cannot follow session ${session} any longer: its reader is ${lag} records behind offset ${cursor}. Follow again from there`;
  return new LogError('lagged', message, { session, cursor, lag });
}
