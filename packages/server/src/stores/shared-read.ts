import type { Clock } from '@millrace/log';

/** The time for which the result of a read is valid, in milliseconds. */
const validMs = 1000;

/**
 * A read of the stores that any client can cause, even without a token. All clients share one read while it runs, and
 * its result, or its error, for a second after it.
 */
export class SharedRead<T> {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #read: () => Promise<T>;
  #running: Promise<T> | undefined;
  #last: { readonly at: number; readonly result: Promise<T> } | undefined;

  constructor(clock: Pick<Clock, 'now'>, read: () => Promise<T>) {
    this.#clock = clock;
    this.#read = read;
  }

  get(): Promise<T> {
    const last = this.#last;
    if (last !== undefined && Math.abs(this.#clock.now() - last.at) < validMs) return last.result;
    this.#running ??= this.#start();
    return this.#running;
  }

  #start(): Promise<T> {
    const result = this.#read().finally(() => {
      this.#running = undefined;
      this.#last = { at: this.#clock.now(), result };
    });
    return result;
  }
}
