import type { Clock } from '@millrace/client';
import type { Batch, LogRecord } from '@millrace/core';

/** How a session's records are read: a page of what comes after an offset. */
type ReadRecords = (from: number, options: { readonly signal: AbortSignal }) => Promise<Batch>;

export interface SessionReaderOptions {
  readonly read: ReadRecords;
  readonly clock: Clock;
  readonly onRecords: (records: readonly LogRecord[]) => void;
  /** What was read is not what the log has any more: it is read again from its start. */
  readonly onReset: () => void;
  readonly onChange: () => void;
  /** More are not read, so that a page does not accept a machine's memory. */
  readonly maxRecords?: number;
  /** Of all texts together, roughly. */
  readonly maxLength?: number;
}

export type RecordsStatus =
  | { readonly state: 'loading' | 'current' }
  /** It is larger than what may be read. */
  | { readonly state: 'full' }
  | { readonly state: 'failed'; readonly error: unknown };

/** While more comes, it is asked for at most so often. */
const pauseMs = 200;

/** Reads all records of a session, each as the log has it, and goes on as it grows. Bounded. */
export class SessionReader {
  readonly #options: SessionReaderOptions;
  readonly #maxRecords: number;
  readonly #maxLength: number;
  readonly #stopped = new AbortController();
  status: RecordsStatus = { state: 'loading' };
  through = 0;
  count = 0;
  #length = 0;
  /** What the server is knownThrough to have. */
  #knownThrough = 0;
  #isBusy = false;
  /** It was read to its end once; from then on, what is taken back was shown before. */
  #wasCurrent = false;

  constructor(options: SessionReaderOptions) {
    this.#options = options;
    this.#maxRecords = options.maxRecords ?? 200_000;
    this.#maxLength = options.maxLength ?? 2 ** 26;
  }

  start(): void {
    this.#startReading();
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** The log has at least this: told by whoever follows it. */
  reach(through: number): void {
    this.#knownThrough = Math.max(this.#knownThrough, through);
    if (this.#knownThrough > this.through) this.#startReading();
  }

  /** After a failure. */
  retry(): void {
    this.#startReading();
  }

  #startReading(): void {
    if (this.#isBusy || this.status.state === 'full' || this.#stopped.signal.aborted) return;
    this.#isBusy = true;
    void this.#readAll().finally(() => {
      this.#isBusy = false;
      if (this.status.state === 'current' && this.#knownThrough > this.through) this.#readLater();
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
        const batch = await this.#options.read(this.through, { signal });
        if (signal.aborted) return;
        if (batch.through <= this.through) {
          this.#wasCurrent = true;
          // Who says that there is more is asked again when it says so once more.
          this.#knownThrough = this.through;
          return this.#setStatus({ state: 'current' });
        }
        if (!this.#accept(batch)) return this.#setStatus({ state: 'full' });
      }
    } catch (error) {
      if (!signal.aborted) this.#setStatus({ state: 'failed', error });
    }
  }

  /** False where it is more than what may be kept. */
  #accept({ records, through }: Batch): boolean {
    if (this.#wasCurrent && records.some(({ fact }) => fact?.type === 'item_redacted')) {
      this.#reset();
      return true;
    }
    const length = records.reduce((sum, record) => sum + roughLength(record), this.#length);
    const isTooMuch = this.count + records.length > this.#maxRecords || length > this.#maxLength;
    // The first page is shown in any case.
    if (isTooMuch && this.count > 0) return false;
    this.#length = length;
    this.count += records.length;
    this.through = through;
    this.#options.onRecords(records);
    this.#options.onChange();
    return true;
  }

  #reset(): void {
    this.through = 0;
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
