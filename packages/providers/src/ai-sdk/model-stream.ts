import type { Clock } from '../transport/clock.ts';
import { Deadlines, type TimeoutOptions } from '../transport/deadlines.ts';
import { Interrupted, type Interruption } from '../transport/failures.ts';
import type { StreamPart, StreamResult } from './model.ts';

interface ModelStreamOptions {
  readonly clock: Clock;
  readonly timeouts: TimeoutOptions;
  readonly signal: AbortSignal | undefined;
  /** Called when it is stopped from outside, at once: whoever reads may be busy for long. */
  readonly onInterrupted?: (() => void) | undefined;
}

/** Parts that one read gives at most. */
const maxPartsPerRead = 256;

/**
 * Microtasks after which a read that has not settled waits for the network. What is there already
 * takes a few for each stage of the package's stream: eight in those that were measured.
 */
const maxMicrotasks = 32;

/** A read of the package's stream; what it came to stays here until someone takes it. */
interface PendingRead {
  outcome?: { readonly part?: StreamPart | undefined; readonly error?: unknown; isEnd: boolean };
}

/** One call of a model, read by read, and everything that can stop it. */
export class ModelStream {
  readonly #options: ModelStreamOptions;
  readonly #controller = new AbortController();
  readonly #deadlines: Deadlines;
  #interruption: Interruption | undefined;
  #reader: ReadableStreamDefaultReader<StreamPart> | undefined;
  #pending: PendingRead | undefined;
  /** Called when the pending read settles, and when there is nothing left to wait for. */
  #wake: () => void = () => {};
  /** The model's own end came: from then on, whatever ends the stream is its end. */
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

  /** Asks the model. Throws `Interrupted`, or whatever the package throws. */
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
    // A package that does not mind the signal may still answer.
    calling.then((late) => late.stream.cancel()).catch(() => {});
    return this.#throw(undefined);
  }

  /**
   * The parts that are there, at least one; none at the end. A part is waited for only if there is
   * none. Throws `Interrupted`, or whatever the stream throws.
   */
  async read(): Promise<readonly StreamPart[]> {
    // The time that a consumer takes over a step is not the model's.
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
    // The warnings that packages begin with are made here, not by the model.
    if (parts.some(({ type }) => type !== 'stream-start')) this.#deadlines.recordActivity();
    return parts;
  }

  /** Nothing can follow: reads on for so long at most, so that the connection can be used again. */
  drainFor(ms: number): void {
    this.#isDraining = true;
    this.#cancelDrain = this.#options.clock.after(ms, () => this.#cancel());
  }

  /** Lets go of everything; the stream is cancelled unless it was read to its end. */
  close(): void {
    this.#deadlines.end();
    this.#cancelDrain();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#cancel();
  }

  /** The read that is under way, or a new one; none after the end. */
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

  /** There is no part: the stream is over, was let go, or failed. */
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

  /** Ends what is going on, also where the package minds only one of the two ways. */
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
