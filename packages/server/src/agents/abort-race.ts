import type { Clock } from '@millrace/log';

export const left: unique symbol = Symbol('left');

/** What comes of it, or `left` as soon as nobody waits any more. What then becomes of it is nobody's business. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T | typeof left> {
  using watch = new AbortWatch(signal);
  return await watch.unlessAborted(work);
}

/** The same, by the clock. */
export async function unlessLate<T>(
  work: Promise<T>,
  clock: Clock,
  ms: number,
): Promise<T | typeof left> {
  work.catch(() => {});
  const late = Promise.withResolvers<typeof left>();
  const cancel = clock.after(ms, () => late.resolve(left));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}

/** `unlessAborted` for one thing after another, as a stream has them: one listener for all of them. */
export class AbortWatch implements Disposable {
  readonly #signal: AbortSignal;
  #leave: () => void = () => {};
  readonly #onAbort = () => this.#leave();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
  }

  /** What comes of it, or `left` as soon as the signal is aborted. */
  unlessAborted<T>(work: Promise<T>): Promise<T | typeof left> {
    return new Promise((resolve, reject) => {
      this.#leave = () => resolve(left);
      if (this.#signal.aborted) resolve(left);
      work.then(resolve, reject);
    });
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}
