import type { StreamContext } from '../contract/provider.ts';

/**
 * One iteration whose reader may leave in the middle of a read: `return()` aborts `left` first, and
 * so ends what `next()` waits for. A generator alone would finish that read before it returns.
 * Nothing starts before the first value is asked for.
 */
export function leavable<T>(start: (left: AbortSignal) => AsyncIterable<T>): AsyncIterable<T> {
  const iterator = new LeavableIterator(start);
  return { [Symbol.asyncIterator]: () => iterator };
}

class LeavableIterator<T> implements AsyncIterableIterator<T, undefined, undefined> {
  readonly #left = new AbortController();
  /** Until it was used. */
  #start: ((left: AbortSignal) => AsyncIterable<T>) | undefined;
  #values: AsyncIterator<T> | undefined;

  constructor(start: (left: AbortSignal) => AsyncIterable<T>) {
    this.#start = start;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#values?.next() ?? this.#begin();
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#start = undefined;
    this.#left.abort();
    await this.#values?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** A start that throws is not tried again. */
  async #begin(): Promise<IteratorResult<T, undefined>> {
    const start = this.#start;
    this.#start = undefined;
    if (start === undefined) return { done: true, value: undefined };
    this.#values = start(this.#left.signal)[Symbol.asyncIterator]();
    return this.#values.next();
  }
}

/** The same context, whose signal is also aborted by this one. */
export function stoppedBy(context: StreamContext, left: AbortSignal): StreamContext {
  const { signal } = context;
  return { ...context, signal: signal === undefined ? left : AbortSignal.any([signal, left]) };
}
