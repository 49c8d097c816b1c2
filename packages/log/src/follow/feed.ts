import { type Batch, type LogRecord, mergeBatch, type SessionId } from '@millrace/core';
import type { BusNotice } from '../contract/bus.ts';
import { LogError, rewoundError } from '../contract/log-error.ts';
import { incarnationText } from '../storage/incarnation.ts';
import { approximateBytes, indexAfter } from '../storage/record-list.ts';
import {
  type Awaitable,
  andThen,
  type LogReader,
  type RecordPage,
} from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';

/**
 * The limits of the window: the newest records of a session, which stay in memory. Followers that are
 * further behind read the store.
 */
const windowLength = 4096;
const windowBytes: number = 2 ** 20;
/** Approximate maximum size of one batch in bytes. */
export const batchBytes: number = 2 ** 20;

interface FoundSession {
  readonly row: SessionRow | undefined;
}

/** Records that were read from the store, and the value of `#resets` at the start of the read. */
interface FoundRecords {
  readonly offset: number;
  readonly through: number;
  readonly records: readonly LogRecord[];
  readonly resets: number;
}

/**
 * The newest records of one session in this process (the window). All followers of the session share them. A
 * follower has only a cursor. Records that it has not read yet are in the window or in the store.
 */
export class SessionFeed {
  readonly #session: SessionId;
  readonly #reader: Pick<LogReader, 'session' | 'records' | 'page'>;
  #row: SessionRow;
  /** True if the session was deleted. A new session with the same id gets a new feed. */
  #isDeleted = false;
  /** The error of the last read of the store. The feed gives it to the followers. */
  #failure: unknown;
  /** The newest records in order. The first record of the window follows the offset `#windowAfter`. */
  #window: LogRecord[] = [];
  #windowAfter: number;
  #bytes = 0;
  /** The functions that wake the followers. */
  readonly #followers = new Set<() => void>();
  /** The last batch that was built. Followers with the same cursor share it. */
  #shared: Batch | undefined;
  /** Batches that are being read from an asynchronous store, by cursor. */
  readonly #loading = new Map<number, Promise<Batch>>();
  /**
   * The number of times that the window was cleared. If the number changes during a read, the records of that
   * read may be outdated and must not be shared.
   */
  #resets = 0;
  /** The refresh that runs now. */
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

  /** The newest session row that this feed has seen. */
  get row(): SessionRow {
    return this.#row;
  }

  /** The approximate size of the buffered records in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True if this feed has ended. New followers then get a new feed. */
  get isOver(): boolean {
    return this.#isDeleted || this.#failure !== undefined;
  }

  /** Adds records that this process committed. */
  push(row: SessionRow, records: readonly LogRecord[]): void {
    if (this.isOver) return;
    const { made, rewrites, through, incarnation } = this.#row;
    const isNext = row.through === through + records.length && row.incarnation === incarnation;
    // The row does not directly follow the last known row, so another process has written. This can also
    // happen with an empty append.
    if (!isNext || row.made !== made || row.rewrites !== rewrites) return void this.refresh();
    this.#row = row;
    // The records are pushed one by one, because a call has a limit on the number of arguments.
    for (const record of records) {
      this.#window.push(record);
      this.#bytes += approximateBytes(record);
    }
    if (this.#window.length > windowLength || this.#bytes > windowBytes) this.#trimWindow();
    this.#wake();
  }

  /** Adds the records of a notice from the bus. A notice may arrive late, twice or never. */
  notice(notice: BusNotice): void {
    if (this.isOver) return;
    const { made, rewrites, through } = this.#row;
    const isOwn = notice.incarnation === incarnationText(this.#row);
    if (isOwn && isStale(notice, this.#row)) return;
    const isSame = isOwn && notice.made === made && notice.rewrites === rewrites;
    const fresh = notice.records.slice(indexAfter(notice.records, through));
    const fits = fresh.length === notice.through - through && isDense(fresh, through + 1);
    if (!isSame || !fits) return void this.refresh();
    const { changedAt, openWork, queuedCommands } = notice;
    const said = { through: notice.through, isClosed: notice.isClosed };
    this.push({ ...this.#row, ...said, changedAt, openWork, queuedCommands }, fresh);
  }

  /**
   * Reads the session row again. It is called after another process wrote, or after records were rewritten.
   * It never throws, because the followers receive the error.
   */
  refresh(): Awaitable<void> {
    if (this.isOver) return;
    // The running read may have started before the change, so a second read must follow it.
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

  /** Reads the session row. Returns `undefined` if the read failed. */
  #readSession(): Awaitable<FoundSession | undefined> {
    try {
      const row = this.#reader.session(this.#session);
      if (!(row instanceof Promise)) return { row };
      return row.then(
        (found) => ({ row: found }),
        (error: unknown) => this.#fail(error),
      );
    } catch (error) {
      // The feed stores the error for its followers. The caller is a timer or a commit, which cannot handle
      // it.
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
    if (row === undefined) return this.markDeleted();
    // The incarnation is compared first, because the generation number of a restored session is different
    // too.
    if (row.incarnation !== before.incarnation) return this.#rewound(row);
    if (row.made !== before.made) return this.markDeleted();
    // This row is older than a commit that the feed already has.
    if (row.through < before.through || row.rewrites < before.rewrites) return;
    this.#row = before.isClosed && !row.isClosed ? { ...row, isClosed: true } : row;
    const hasChanged = row.through !== before.through || row.rewrites !== before.rewrites;
    if (hasChanged) this.reset();
    if (hasChanged || this.#row.isClosed !== before.isClosed) this.#wake();
  }

  /** Ends the feed, because some records that followers have read may no longer exist. */
  #rewound(row: SessionRow): void {
    this.reset();
    this.#fail(rewoundError(this.#session, incarnationText(this.#row), incarnationText(row)));
  }

  /** Clears the window because records of the store were rewritten. */
  reset(): void {
    this.#window = [];
    this.#bytes = 0;
    this.#windowAfter = this.#row.through;
    this.#shared = undefined;
    this.#loading.clear();
    this.#resets++;
  }

  /** Marks the session as deleted. */
  markDeleted(): void {
    this.#isDeleted = true;
    this.reset();
    this.#wake();
  }

  /** Returns the batch after an offset, or `undefined` if there are no new records. */
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

  /** Merges the deltas of a batch once. All followers with the same cursor share the result. */
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
      // Another process may have deleted the session before or during the read. The refresh checks this
      // before the feed uses the records.
      andThen(this.refresh(), () => this.#batch({ offset, through, records, resets })),
    );
  }

  /** Builds a batch from a page. The page contains its records and the session row from the same moment. */
  #fromPage(offset: number, { row, records }: RecordPage, resets: number): Batch {
    // The page is outdated if the window was cleared after the read began. If the page itself causes the
    // window to be cleared, the page is not outdated.
    const isLate = resets !== this.#resets;
    if (!this.isOver) this.#applyRow(row);
    const through = row?.through ?? offset;
    return this.#batch({ offset, through, records, resets: isLate ? resets : this.#resets });
  }

  #batch({ offset, through, records, resets }: FoundRecords): Batch {
    this.#assertReadable(offset);
    // If the last records were removed, the batch is empty. Its end is then the session's last offset.
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

/** Returns whether the feed already has all content of the notice. */
function isStale(notice: BusNotice, row: SessionRow): boolean {
  if (notice.made !== row.made) return notice.made < row.made;
  if (notice.rewrites !== row.rewrites) return notice.rewrites < row.rewrites;
  if (notice.through !== row.through) return notice.through < row.through;
  return row.isClosed || !notice.isClosed;
}

/** Returns whether the offsets of the records are consecutive and start with `first`. */
function isDense(records: readonly LogRecord[], first: number): boolean {
  return records.every(({ offset }, index) => offset === first + index);
}

function deletedError(session: SessionId, offset: number): LogError {
  const message = `Cannot follow session ${session} after offset ${offset}: it was deleted`;
  return new LogError('no_session', message, { session, offset });
}
