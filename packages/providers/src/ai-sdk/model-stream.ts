import type { Clock } from '../transport/clock.ts';
import { Deadlines, type TimeoutOptions } from '../transport/deadlines.ts';
import { Interrupted, type Interruption } from '../transport/failures.ts';
import type { StreamPart, StreamResult } from './model.ts';

interface ModelStreamOptions {
  readonly clock: Clock;
  readonly timeouts: TimeoutOptions;
  readonly signal: AbortSignal | undefined;
  /**
   * Called immediately when the stream is interrupted. The reader may notice the interruption only much
   * later.
   */
  readonly onInterrupted?: (() => void) | undefined;
}

/** Maximum number of parts that one read returns. */
const maxPartsPerRead = 256;

/**
 * The number of microtasks to wait for a further part before a read returns. Each stage of the package's
 * stream needs a few microtasks. In a measurement, all stages together needed eight.
 */
const maxMicrotasks = 32;

/** One read of the package's stream. `outcome` is set when the read ends. */
interface PendingRead {
  outcome?: { readonly part?: StreamPart | undefined; readonly error?: unknown; isEnd: boolean };
}

/** One call to a model, which is read part by part. It handles aborts and timeouts. */
export class ModelStream {
  readonly #options: ModelStreamOptions;
  readonly #controller = new AbortController();
  readonly #deadlines: Deadlines;
  #interruption: Interruption | undefined;
  #reader: ReadableStreamDefaultReader<StreamPart> | undefined;
  #pending: PendingRead | undefined;
  /**
   * Resumes the method that waits for the model. It is called when the pending read ends, and when no further
   * event can arrive.
   */
  #wake: () => void = () => {};
  /** True after the last part of the answer arrived. After that, any end of the stream is a normal end. */
  #isDraining = false;
  #cancelDrain: () => void = () => {};

  constructor(options: ModelStreamOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.clock, options.timeouts, (deadline, afterMs) =>
      this.#interrupt({ by: 'deadline', deadline, afterMs }),
    );
    options.signal?.addEventListener('abort', this.#onAbort);
    if (options.signal?.aborted) this.#onAbort();
  }

  /** Calls the model. Throws `Interrupted`, or the error of the package. */
  async open(call: (signal: AbortSignal) => Promise<StreamResult>): Promise<StreamResult> {
    if (this.#interruption !== undefined) throw new Interrupted(this.#interruption);
    const calling = call(this.#controller.signal);
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const result = await Promise.race([calling, woken]).catch((error) => this.#throw(error));
    if (result !== undefined) {
      this.#reader = result.stream.getReader();
      return result;
    }
    // A package that ignores the signal may still return a stream later. That stream must be cancelled.
    calling.then((late) => late.stream.cancel()).catch(() => {});
    return this.#throw(undefined);
  }

  /**
   * Returns all available parts, or an empty list at the end. It waits only if no part is
   * available. Throws `Interrupted`, or the error of the stream.
   */
  async read(): Promise<readonly StreamPart[]> {
    // The deadline for idle time runs only during reads. It stops while the consumer works between two reads.
    this.#deadlines.resume();
    try {
      return await this.#readParts();
    } finally {
      this.#deadlines.pause();
    }
  }

  async #readParts(): Promise<readonly StreamPart[]> {
    const parts: StreamPart[] = [];
    let pending = this.#startRead();
    if (pending !== undefined && pending.outcome === undefined) await this.#settled(pending);
    while (pending !== undefined && parts.length < maxPartsPerRead) {
      const { outcome } = pending;
      if (outcome?.part === undefined) {
        if (parts.length === 0) this.#end(outcome);
        break;
      }
      parts.push(outcome.part);
      this.#pending = undefined;
      pending = this.#startRead();
      for (let ticks = 0; ticks < maxMicrotasks && pending?.outcome === undefined; ticks++)
        await undefined;
    }
    // Packages create the part `stream-start` themselves before the model answers. This part therefore does
    // not count as activity.
    if (parts.some(({ type }) => type !== 'stream-start')) {
      this.#deadlines.recordActivity();
      this.#deadlines.recordContent();
    }
    return parts;
  }

  /**
   * Must be called when the answer is complete. Reads may then continue for at most this time, so that the
   * stream can end and its connection can be reused.
   */
  drainFor(ms: number): void {
    this.#isDraining = true;
    this.#cancelDrain = this.#options.clock.after(ms, () => this.#cancel());
  }

  /** Releases all resources. Cancels the stream if it was not read to its end. */
  close(): void {
    this.#deadlines.end();
    this.#cancelDrain();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#cancel();
  }

  /** Returns the pending read, or starts a new one. Returns undefined after the end of the stream. */
  #startRead(): PendingRead | undefined {
    if (this.#pending !== undefined || this.#reader === undefined) return this.#pending;
    const pending: PendingRead = {};
    const settle = (outcome: PendingRead['outcome'] & object) => {
      pending.outcome = outcome;
      this.#wake();
    };
    this.#reader.read().then(
      ({ done, value }) => settle({ part: value, isEnd: done }),
      (error: unknown) => settle({ error, isEnd: false }),
    );
    this.#pending = pending;
    return pending;
  }

  async #settled(pending: PendingRead): Promise<void> {
    if (this.#interruption !== undefined && !this.#isDraining) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (pending.outcome !== undefined) resolve();
    });
  }

  /**
   * Handles a read that returned no part: the stream ended, was cancelled, or failed. Throws if this is not a
   * normal end.
   */
  #end(outcome: PendingRead['outcome']): void {
    const isOver = outcome !== undefined;
    if (isOver) this.#reader = undefined;
    this.#pending = undefined;
    if (this.#isDraining || (outcome?.isEnd && this.#interruption === undefined)) return;
    this.#throw(outcome?.error);
  }

  readonly #onAbort = (): void => {
    this.#interrupt({ by: 'signal', reason: this.#options.signal?.reason });
  };

  #interrupt(interruption: Interruption): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = interruption;
    this.#deadlines.end();
    this.#cancel();
    this.#options.onInterrupted?.();
  }

  /**
   * Cancels the call through the signal and through the stream, because some packages react to only one of
   * them.
   */
  #cancel(): void {
    this.#wake();
    if (this.#reader === undefined && this.#interruption === undefined) return;
    this.#reader?.cancel().catch(() => {});
    this.#controller.abort();
  }

  #throw(error: unknown): never {
    throw this.#interruption === undefined ? error : new Interrupted(this.#interruption);
  }
}
