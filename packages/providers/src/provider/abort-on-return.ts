import type { StreamContext } from '../contract/provider.ts';

/**
 * One iteration whose reader may leave in the middle of a read: `return()` aborts `returned` first, and
 * so ends what `next()` waits for. A generator alone would finish that read before it returns.
 * Nothing starts before the first value is asked for.
 */
export function abortOnReturn<T>(
  start: (returned: AbortSignal) => AsyncIterable<T>,
): AsyncIterable<T> {
  const iterator = new AbortOnReturnIterator(start);
  return { [Symbol.asyncIterator]: () => iterator };
}

class AbortOnReturnIterator<T> implements AsyncIterableIterator<T, undefined, undefined> {
  readonly #returned = new AbortController();
  /** Until it was used. */
  #start: ((returned: AbortSignal) => AsyncIterable<T>) | undefined;
  #values: AsyncIterator<T> | undefined;

  constructor(start: (returned: AbortSignal) => AsyncIterable<T>) {
    this.#start = start;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#values?.next() ?? this.#startIteration();
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#start = undefined;
    this.#returned.abort();
    await this.#values?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** A start that throws is not tried again. */
  async #startIteration(): Promise<IteratorResult<T, undefined>> {
    const start = this.#start;
    this.#start = undefined;
    if (start === undefined) return { done: true, value: undefined };
    this.#values = start(this.#returned.signal)[Symbol.asyncIterator]();
    return this.#values.next();
  }
}

/** The same context, whose signal is also aborted by this one. */
export function withAbortSignal(context: StreamContext, returned: AbortSignal): StreamContext {
  const { signal } = context;
  return {
    ...context,
    signal: signal === undefined ? returned : AbortSignal.any([signal, returned]),
  };
}
