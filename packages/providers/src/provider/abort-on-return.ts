import type { StreamContext } from '../contract/provider.ts';

/**
 * An async iterable that the reader can leave during a read. `return()` first aborts the `returned`
 * signal, which ends the pending `next()`. A generator alone would finish that read first. `start`
 * is called when the first value is requested.
 */
export function abortOnReturn<T>(
  start: (returned: AbortSignal) => AsyncIterable<T>,
): AsyncIterable<T> {
  const iterator = new AbortOnReturnIterator(start);
  return { [Symbol.asyncIterator]: () => iterator };
}

/**
 * One reason for all streams, because to create a reason costs more than the abort. A workflow of
 * Temporal has no `DOMException`.
 */
const left = Object.assign(new Error('The reader left the stream'), { name: 'AbortError' });

class AbortOnReturnIterator<T> implements AsyncIterableIterator<T, undefined, undefined> {
  readonly #returned = new AbortController();
  /** Undefined after the first use. */
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

  /** If `start` throws, it is not called again. */
  async #startIteration(): Promise<IteratorResult<T, undefined>> {
    const start = this.#start;
    this.#start = undefined;
    if (start === undefined) return { done: true, value: undefined };
    this.#values = start(this.#returned.signal)[Symbol.asyncIterator]();
    return this.#values.next();
  }
}

/** Returns a context whose signal is aborted by either signal. */
export function withAbortSignal(context: StreamContext, returned: AbortSignal): StreamContext {
  const { signal } = context;
  return {
    ...context,
    signal: signal === undefined ? returned : AbortSignal.any([signal, returned]),
  };
}
