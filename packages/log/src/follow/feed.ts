import { type Batch, type LogRecord, mergeBatch, type SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { firstAfter } from '../shelf/first-after.ts';
import type { SessionRow } from '../shelf/rows.ts';
import type { ShelfReader } from '../shelf/shelf.ts';
import { weightOf } from '../shelf/weight-of.ts';

/** How much of the live end is kept for followers; who is further behind reads the store. */
const windowLength = 4096;
const windowBytes: number = 2 ** 20;
/** Of one batch. */
export const batchBytes: number = 2 ** 20;

/**
 * The live end of one session in this process, however many follow it. Followers hold a cursor and
 * nothing else: what they have not read yet is here for all of them, or in the store.
 */
export class Feed {
  readonly #session: SessionId;
  readonly #shelf: ShelfReader;
  #row: SessionRow;
  /** The session was deleted; one of the same name is another. */
  #isGone = false;
  /** The store could not say what there is: followers hear of it, and nobody else. */
  #failure: unknown;
  /** The newest records, in order; they follow the offset `#windowAfter`. */
  #window: LogRecord[] = [];
  #windowAfter: number;
  #bytes = 0;
  /** Those who follow, by how they are told of a change. */
  readonly #followers = new Set<() => void>();
  /** What followers at the same place get, so that it is put together once. */
  #shared: Batch | undefined;

  constructor(row: SessionRow, shelf: ShelfReader) {
    this.#session = row.session;
    this.#shelf = shelf;
    this.#row = row;
    this.#windowAfter = row.through;
  }

  get hasFollowers(): boolean {
    return this.#followers.size > 0;
  }

  join(wake: () => void): void {
    this.#followers.add(wake);
  }

  leave(wake: () => void): void {
    this.#followers.delete(wake);
  }

  /** The session as it is known here. */
  get row(): SessionRow {
    return this.#row;
  }

  /** How much is held here for all followers, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  /** It is of no use to those who come now. */
  get isOver(): boolean {
    return this.#isGone || this.#failure !== undefined;
  }

  /** What was committed here. */
  push(row: SessionRow, records: readonly LogRecord[]): void {
    if (this.isOver) return;
    const { made, rewrites, through } = this.#row;
    const isNext = row.through === through + records.length;
    // Others may have written in between, before an append of nothing too.
    if (!isNext || row.made !== made || row.rewrites !== rewrites) return this.refresh();
    this.#row = row;
    // One by one: a function does not take as many arguments as there may be records.
    for (const record of records) {
      this.#window.push(record);
      this.#bytes += weightOf(record);
    }
    if (this.#window.length > windowLength || this.#bytes > windowBytes) this.#shorten();
    this.#wake();
  }

  /** Another process may have written, or something was rewritten. */
  refresh(): void {
    if (this.isOver) return;
    let row: SessionRow | undefined;
    try {
      row = this.#shelf.session(this.#session);
    } catch (error) {
      // This is called by a timer, or after somebody's commit, where nobody could catch it.
      this.#failure = error;
      return this.#wake();
    }
    const before = this.#row;
    if (row?.made !== before.made) return this.forget();
    this.#row = row;
    const hasChanged = row.through !== before.through || row.rewrites !== before.rewrites;
    if (hasChanged) this.reset();
    if (hasChanged || row.isClosed !== before.isClosed) this.#wake();
  }

  /** What is kept here is not what the store has any more. */
  reset(): void {
    this.#window = [];
    this.#bytes = 0;
    this.#windowAfter = this.#row.through;
    this.#shared = undefined;
  }

  /** The session is gone. */
  forget(): void {
    this.#isGone = true;
    this.reset();
    this.#wake();
  }

  /** What comes after an offset, or undefined where nothing does yet. */
  after(offset: number): Batch | undefined {
    if (this.#isGone) throw deleted(this.#session, offset);
    if (this.#failure !== undefined) throw this.#failure;
    if (offset >= this.#row.through) return undefined;
    if (this.#shared?.after === offset) return this.#shared;
    const batch = offset < this.#windowAfter ? this.#stored(offset) : this.#live(offset);
    this.#shared = batch.records.length < 2 ? batch : mergeBatch(batch);
    return this.#shared;
  }

  #live(offset: number): Batch {
    const start = firstAfter(this.#window, offset);
    return { after: offset, through: this.#row.through, records: this.#window.slice(start) };
  }

  #stored(offset: number): Batch {
    const records = this.#shelf.records(this.#session, offset, batchBytes);
    // Another process may have deleted it before that, or in between: then this says nothing.
    this.refresh();
    if (this.#isGone) throw deleted(this.#session, offset);
    if (this.#failure !== undefined) throw this.#failure;
    // What came last may have been taken out: then there is nothing after it, and that was all.
    return { after: offset, through: records.at(-1)?.offset ?? this.#row.through, records };
  }

  #shorten(): void {
    let dropped = 0;
    let left = this.#window.length;
    while (left > windowLength / 2 || this.#bytes > windowBytes / 2) {
      const record = this.#window[dropped++];
      if (record === undefined) break;
      this.#windowAfter = record.offset;
      this.#bytes -= weightOf(record);
      left--;
    }
    this.#window = this.#window.slice(dropped);
  }

  #wake(): void {
    this.#shared = undefined;
    for (const wake of this.#followers) wake();
  }
}

function deleted(session: SessionId, offset: number): LogError {
  const message = `Cannot follow session ${session} after offset ${offset}: it was deleted`;
  return new LogError('no_session', message, { session, offset });
}
