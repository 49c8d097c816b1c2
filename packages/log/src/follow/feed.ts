import { type Batch, type LogRecord, mergeBatch, type SessionId } from '@millrace/core';
import type { BusNotice } from '../contract/bus.ts';
import { LogError } from '../contract/log-error.ts';
import { approximateBytes, indexAfter } from '../storage/record-list.ts';
import {
  type Awaitable,
  andThen,
  type LogReader,
  type RecordPage,
} from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';

/** How much of the live end is kept for followers; who is further behind reads the store. */
const windowLength = 4096;
const windowBytes: number = 2 ** 20;
/** Of one batch. */
export const batchBytes: number = 2 ** 20;

interface FoundSession {
  readonly row: SessionRow | undefined;
}

/** What the store has after an offset, and how often all was thrown away when it was asked. */
interface FoundRecords {
  readonly offset: number;
  readonly through: number;
  readonly records: readonly LogRecord[];
  readonly resets: number;
}

/**
 * The live end of one session in this process, however many follow it. Followers hold a cursor and
 * nothing else: what they have not read yet is here for all of them, or in the store.
 */
export class SessionFeed {
  readonly #session: SessionId;
  readonly #reader: Pick<LogReader, 'session' | 'records' | 'page'>;
  #row: SessionRow;
  /** The session was deleted; one of the same name is another. */
  #isDeleted = false;
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
  /** The same while a store elsewhere is asked for it. */
  readonly #loading = new Map<number, Promise<Batch>>();
  /** How often what is kept here was thrown away: what was asked for before is not kept after it. */
  #resets = 0;
  /** A look at a store elsewhere that goes on, and whether another is due after it. */
  #refreshing: Promise<void> | undefined;
  #isRefreshDue = false;

  constructor(row: SessionRow, reader: Pick<LogReader, 'session' | 'records' | 'page'>) {
    this.#session = row.session;
    this.#reader = reader;
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
    return this.#isDeleted || this.#failure !== undefined;
  }

  /** What was committed here. */
  push(row: SessionRow, records: readonly LogRecord[]): void {
    if (this.isOver) return;
    const { made, rewrites, through } = this.#row;
    const isNext = row.through === through + records.length;
    // Others may have written in between, before an append of nothing too.
    if (!isNext || row.made !== made || row.rewrites !== rewrites) return void this.refresh();
    this.#row = row;
    // One by one: a function does not take as many arguments as there may be records.
    for (const record of records) {
      this.#window.push(record);
      this.#bytes += approximateBytes(record);
    }
    if (this.#window.length > windowLength || this.#bytes > windowBytes) this.#trimWindow();
    this.#wake();
  }

  /** What was committed elsewhere, as a copy that may come late, twice or never. */
  notice(notice: BusNotice): void {
    if (this.isOver) return;
    const { made, rewrites, through } = this.#row;
    if (isStale(notice, this.#row)) return;
    const isSame = notice.made === made && notice.rewrites === rewrites;
    const fresh = notice.records.slice(indexAfter(notice.records, through));
    const fits = fresh.length === notice.through - through && isDense(fresh, through + 1);
    if (!isSame || !fits) return void this.refresh();
    const { changedAt, openWork, queuedCommands } = notice;
    const said = { through: notice.through, isClosed: notice.isClosed };
    this.push({ ...this.#row, ...said, changedAt, openWork, queuedCommands }, fresh);
  }

  /** Another process may have written, or something was rewritten. It does not fail: followers do. */
  refresh(): Awaitable<void> {
    if (this.isOver) return;
    // What is read already may have been read too early.
    if (this.#refreshing !== undefined) {
      this.#isRefreshDue = true;
      return this.#refreshing;
    }
    const row = this.#readSession();
    if (!(row instanceof Promise)) return row === undefined ? undefined : this.#applyRow(row.row);
    this.#refreshing = this.#applyRowLater(row).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Undefined where it failed. */
  #readSession(): Awaitable<FoundSession | undefined> {
    try {
      const row = this.#reader.session(this.#session);
      if (!(row instanceof Promise)) return { row };
      return row.then(
        (found) => ({ row: found }),
        (error: unknown) => this.#fail(error),
      );
    } catch (error) {
      // This is called by a timer, or after somebody's commit, where nobody could catch it.
      return this.#fail(error);
    }
  }

  async #applyRowLater(first: Promise<FoundSession | undefined>): Promise<void> {
    let coming: Awaitable<FoundSession | undefined> = first;
    do {
      this.#isRefreshDue = false;
      const seen = await coming;
      if (seen !== undefined && !this.isOver) this.#applyRow(seen.row);
      if (this.#isRefreshDue && !this.isOver) coming = this.#readSession();
    } while (this.#isRefreshDue && !this.isOver);
  }

  #fail(error: unknown): undefined {
    this.#failure = error;
    this.#wake();
  }

  #applyRow(row: SessionRow | undefined): void {
    const before = this.#row;
    if (row?.made !== before.made) return this.markDeleted();
    // It was read before something that was told here was committed.
    if (row.through < before.through || row.rewrites < before.rewrites) return;
    this.#row = before.isClosed && !row.isClosed ? { ...row, isClosed: true } : row;
    const hasChanged = row.through !== before.through || row.rewrites !== before.rewrites;
    if (hasChanged) this.reset();
    if (hasChanged || this.#row.isClosed !== before.isClosed) this.#wake();
  }

  /** What is kept here is not what the store has any more. */
  reset(): void {
    this.#window = [];
    this.#bytes = 0;
    this.#windowAfter = this.#row.through;
    this.#shared = undefined;
    this.#loading.clear();
    this.#resets++;
  }

  /** The session is gone. */
  markDeleted(): void {
    this.#isDeleted = true;
    this.reset();
    this.#wake();
  }

  /** What comes after an offset, or undefined where nothing does yet. */
  batchAfter(offset: number): Awaitable<Batch | undefined> {
    this.#assertReadable(offset);
    if (offset >= this.#row.through) return undefined;
    if (this.#shared?.after === offset) return this.#shared;
    if (offset >= this.#windowAfter) return this.#share(this.#fromWindow(offset));
    const loading = this.#loading.get(offset);
    if (loading !== undefined) return loading;
    const batch = this.#fromStore(offset);
    if (batch instanceof Promise) this.#trackLoading(offset, batch);
    return batch;
  }

  #assertReadable(offset: number): void {
    if (this.#isDeleted) throw deletedError(this.#session, offset);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Merged once for all who are there. */
  #share(batch: Batch): Batch {
    this.#shared = batch.records.length < 2 ? batch : mergeBatch(batch);
    return this.#shared;
  }

  #fromWindow(offset: number): Batch {
    const start = indexAfter(this.#window, offset);
    return { after: offset, through: this.#row.through, records: this.#window.slice(start) };
  }

  #fromStore(offset: number): Awaitable<Batch> {
    const { through } = this.#row;
    const resets = this.#resets;
    const page = this.#reader.page?.(this.#session, offset, batchBytes);
    if (page !== undefined) return page.then((found) => this.#fromPage(offset, found, resets));
    return andThen(this.#reader.records(this.#session, offset, batchBytes), (records) =>
      // Another process may have deleted it before that, or in between: then this says nothing.
      andThen(this.refresh(), () => this.#batch({ offset, through, records, resets })),
    );
  }

  /** A page is of one moment: what it says of the session is as new as its records. */
  #fromPage(offset: number, { row, records }: RecordPage, resets: number): Batch {
    // What was thrown away since may be in it; what is thrown away because of it is not.
    const isLate = resets !== this.#resets;
    if (!this.isOver) this.#applyRow(row);
    const through = row?.through ?? offset;
    return this.#batch({ offset, through, records, resets: isLate ? resets : this.#resets });
  }

  #batch({ offset, through, records, resets }: FoundRecords): Batch {
    this.#assertReadable(offset);
    // What came last may have been taken out: then there is nothing after it, and that was all.
    const batch = { after: offset, through: records.at(-1)?.offset ?? through, records };
    if (resets === this.#resets) return this.#share(batch);
    return records.length < 2 ? batch : mergeBatch(batch);
  }

  #trackLoading(offset: number, batch: Promise<Batch>): void {
    this.#loading.set(offset, batch);
    const forget = () => {
      if (this.#loading.get(offset) === batch) this.#loading.delete(offset);
    };
    batch.then(forget, forget);
  }

  #trimWindow(): void {
    let dropped = 0;
    let left = this.#window.length;
    while (left > windowLength / 2 || this.#bytes > windowBytes / 2) {
      const record = this.#window[dropped++];
      if (record === undefined) break;
      this.#windowAfter = record.offset;
      this.#bytes -= approximateBytes(record);
      left--;
    }
    this.#window = this.#window.slice(dropped);
  }

  #wake(): void {
    this.#shared = undefined;
    for (const wake of this.#followers) wake();
  }
}

/** Does it say nothing new? */
function isStale(notice: BusNotice, row: SessionRow): boolean {
  if (notice.made !== row.made) return notice.made < row.made;
  if (notice.rewrites !== row.rewrites) return notice.rewrites < row.rewrites;
  if (notice.through !== row.through) return notice.through < row.through;
  return row.isClosed || !notice.isClosed;
}

/** Are they all there, from an offset on? */
function isDense(records: readonly LogRecord[], first: number): boolean {
  return records.every(({ offset }, index) => offset === first + index);
}

function deletedError(session: SessionId, offset: number): LogError {
  const message = `Cannot follow session ${session} after offset ${offset}: it was deleted`;
  return new LogError('no_session', message, { session, offset });
}
