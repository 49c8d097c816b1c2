import type { Clock } from '@millrace/client';
import type { Batch, LogRecord } from '@millrace/core';

interface ReadOptions {
  readonly signal: AbortSignal;
  /** The maximum number of records. Undefined means that the server decides. */
  readonly limit: number | undefined;
}

/** Reads a page of records after an offset. */
type ReadRecords = (from: number, options: ReadOptions) => Promise<Batch>;

export interface SessionReaderOptions {
  readonly read: ReadRecords;
  readonly clock: Clock;
  readonly onRecords: (records: readonly LogRecord[]) => void;
  /**
   * Called when records that were already read have changed. The caller must then read the log
   * again from the start.
   */
  readonly onReset: () => void;
  readonly onChange: () => void;
  /** The offset after which the records are read. Default: 0. */
  readonly after?: number;
  /** The offset at which reading stops. Default: the end of the log, which can grow. */
  readonly until?: number | undefined;
  /** Maximum number of records. It limits the memory of the page. Default: 200,000. */
  readonly maxRecords?: number;
  /** Maximum approximate length of all texts. Default: 64 Mi characters. */
  readonly maxLength?: number;
}

export type RecordsStatus =
  | { readonly state: 'loading' | 'current' }
  /** The session is larger than the limits. */
  | { readonly state: 'full' }
  | { readonly state: 'failed'; readonly error: unknown };

/** Minimum pause between two reads of a growing log. */
const pauseMs = 200;

/**
 * Reads the records of a session, or a window of them. It continues as the log grows, up to the
 * limits.
 */
export class SessionReader {
  readonly #options: SessionReaderOptions;
  readonly #maxRecords: number;
  readonly #maxLength: number;
  readonly #stopped = new AbortController();
  status: RecordsStatus = { state: 'loading' };
  through: number;
  count = 0;
  /** The offset up to which records are read. */
  #until: number;
  #length = 0;
  /** The highest offset that the server has reported. */
  #knownThrough = 0;
  #isBusy = false;
  /**
   * True if the reader has reached the end of the log once. A later redaction then changes records
   * that are already shown.
   */
  #wasCurrent = false;

  constructor(options: SessionReaderOptions) {
    this.#options = options;
    this.through = options.after ?? 0;
    this.#until = options.until ?? Number.POSITIVE_INFINITY;
    this.#maxRecords = options.maxRecords ?? 200_000;
    this.#maxLength = options.maxLength ?? 2 ** 26;
  }

  start(): void {
    this.#startReading();
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Reports that the log contains at least this offset. */
  setKnownEnd(through: number): void {
    this.#knownThrough = Math.max(this.#knownThrough, through);
    if (this.#hasMore()) this.#startReading();
  }

  /** Continues to read up to an offset. */
  readUntil(until: number): void {
    this.#until = Math.max(this.#until, until);
    this.#knownThrough = Math.max(this.#knownThrough, until);
    if (this.#hasMore()) this.#startReading();
  }

  #hasMore(): boolean {
    return Math.min(this.#knownThrough, this.#until) > this.through;
  }

  /** Reads again after a failure. */
  retry(): void {
    this.#startReading();
  }

  #startReading(): void {
    if (this.#isBusy || this.status.state === 'full' || this.#stopped.signal.aborted) return;
    this.#isBusy = true;
    void this.#readAll().finally(() => {
      this.#isBusy = false;
      if (this.status.state === 'current' && this.#hasMore()) this.#readLater();
    });
  }

  #readLater(): void {
    this.#options.clock.after(pauseMs, () => this.#startReading());
  }

  async #readAll(): Promise<void> {
    const { signal } = this.#stopped;
    if (!this.#wasCurrent) this.#setStatus({ state: 'loading' });
    try {
      while (!signal.aborted) {
        const limit = limitFor(this.#until - this.through);
        const batch = await this.#options.read(this.through, { signal, limit });
        if (signal.aborted) return;
        if (batch.through <= this.through) {
          this.#wasCurrent = true;
          // The server has fewer records than it reported. Reading continues after the next report.
          this.#knownThrough = this.through;
          return this.#setStatus({ state: 'current' });
        }
        if (!this.#accept(batch)) return this.#setStatus({ state: 'full' });
        if (this.through >= this.#until) return this.#setStatus({ state: 'current' });
      }
    } catch (error) {
      if (!signal.aborted) this.#setStatus({ state: 'failed', error });
    }
  }

  /** Adds the records of a batch. Returns false if they exceed the limits. */
  #accept({ records, through }: Batch): boolean {
    if (this.#wasCurrent && records.some(({ fact }) => fact?.type === 'item_redacted')) {
      this.#reset();
      return true;
    }
    const length = records.reduce((sum, record) => sum + roughLength(record), this.#length);
    const isTooMuch = this.count + records.length > this.#maxRecords || length > this.#maxLength;
    // The first page is always shown, even if it exceeds the limits.
    if (isTooMuch && this.count > 0) return false;
    this.#length = length;
    this.count += records.length;
    this.through = through;
    this.#options.onRecords(records);
    this.#options.onChange();
    return true;
  }

  #reset(): void {
    this.through = this.#options.after ?? 0;
    this.count = 0;
    this.#length = 0;
    this.#wasCurrent = false;
    this.#options.onReset();
  }

  #setStatus(status: RecordsStatus): void {
    this.status = status;
    this.#options.onChange();
  }
}

/** Maximum number of records that a server sends in one page. */
const maxLimit = 10_000;

/**
 * Returns the number of records to request, so that the last page ends at the end of the window.
 */
function limitFor(records: number): number | undefined {
  return records > maxLimit ? undefined : records;
}

function roughLength({ delta, fact }: LogRecord): number {
  const head = 150;
  if (delta?.type === 'append_text' || delta?.type === 'append_bytes')
    return head + delta.chunk.length;
  if (delta?.type === 'commit_part' && delta.part !== undefined)
    return head + contentLength(delta.part);
  if (fact?.type !== 'snapshot') return head;
  const parts = fact.items.flatMap(({ parts: all }) => all);
  return parts.reduce((sum, { part }) => sum + contentLength(part), head);
}

function contentLength(part: object): number {
  return Object.values(part).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 50),
    0,
  );
}
