import type { Clock } from '@millrace/providers';
import type { FinishedSpan } from './finished-span.ts';

export interface SpanQueueOptions {
  /** The status of the answer. */
  readonly send: (spans: readonly FinishedSpan[]) => Promise<number>;
  readonly clock: Clock;
  readonly maxQueued: number;
  readonly maxBatch: number;
  readonly everyMs: number;
  readonly onDiagnostic: (problem: string) => void;
}

/** A collector that is away for longer than these tries loses spans, and the run goes on. */
const maxTries = 3;
/** What a collector says that has too much to do. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Spans that wait to be sent: a batch at a time, in order, bounded. */
export class SpanQueue {
  readonly #options: SpanQueueOptions;
  #waiting: FinishedSpan[] = [];
  #dropped = 0;
  #cancelTimer: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  add(span: FinishedSpan): void {
    const { maxQueued, maxBatch, everyMs, clock } = this.#options;
    if (this.#isClosed || this.#waiting.length >= maxQueued) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= maxBatch) this.#begin();
    else this.#cancelTimer ??= clock.after(everyMs, () => this.#begin());
  }

  async flush(): Promise<void> {
    this.#begin();
    await this.#sending;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  #begin(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    const { maxBatch, onDiagnostic } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, maxBatch);
      const problem = await this.#try(batch);
      // Only now: while they are sent, they count as waiting.
      this.#waiting = this.#waiting.slice(batch.length);
      if (problem !== undefined)
        onDiagnostic(`The collector did not take ${batch.length} spans: ${problem}`);
    }
    if (this.#dropped > 0)
      onDiagnostic(`${this.#dropped} spans were dropped: more came than could be sent`);
    this.#dropped = 0;
  }

  /** What is wrong, where they could not be sent. */
  async #try(batch: readonly FinishedSpan[]): Promise<string | undefined> {
    const { send, clock, everyMs } = this.#options;
    for (let tries = 1; ; tries++) {
      const status = await send(batch).catch(() => 0);
      if (status >= 200 && status < 300) return undefined;
      const why = status === 0 ? 'it cannot be reached' : `it answered ${status}`;
      const mayPass = status === 0 || passing.has(status);
      // Whoever waits for the end does not wait for a collector that is away.
      if (!mayPass || tries === maxTries || this.#isClosed) return why;
      await new Promise<void>((resolve) => clock.after(everyMs * 2 ** (tries - 1), resolve));
    }
  }
}
