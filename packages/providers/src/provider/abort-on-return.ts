import type { StreamContext } from '../contract/provider.ts';

/**
 * Returns an async iterable whose reader can stop during a read. `return()` first aborts the signal
 * `returned`, which ends the pending `next()`. An ordinary generator would finish that read first. `start` is
 * called when the first value is requested.
 */
export function abortOnReturn<T>(
  start: (returned: AbortSignal) => AsyncIterable<T>,
): AsyncIterable<T> {
  const iterator = new AbortOnReturnIterator(start);
  return { [Symbol.asyncIterator]: () => iterator };
}

/**
 * The abort reason that all streams use. It is created only once, because creating a reason costs more than
 * the abort. It is not a `DOMException`, because Temporal workflows do not have that class.
 */
const left = Object.assign(new Error('The reader left the stream'), { name: 'AbortError' });

class AbortOnReturnIterator<T> implements AsyncIterableIterator<T, undefined, undefined> {
  readonly #returned = new AbortController();
  /** Starts the iteration. Undefined after the first call. */
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
    this.#returned.abort(left);
    await this.#values?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Starts the iteration and returns its first result. If `start` throws, `start` is not called again. */
  async #startIteration(): Promise<IteratorResult<T, undefined>> {
    const start = this.#start;
    this.#start = undefined;
    if (start === undefined) return { done: true, value: undefined };
    this.#values = start(this.#returned.signal)[Symbol.asyncIterator]();
    return this.#values.next();
  }
}

/** Returns a context whose signal is aborted when either signal is aborted. */
export function withAbortSignal(context: StreamContext, returned: AbortSignal): StreamContext {
  const { signal } = context;
  return {
    ...context,
    signal: signal === undefined ? returned : AbortSignal.any([signal, returned]),
  };
}
