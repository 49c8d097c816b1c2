import type { Clock } from '@millrace/log';

/** The value that a race returns if the abort signal or the timeout wins against the work. */
export const abandoned: unique symbol = Symbol('left');

/**
 * Returns the result of `work`. If the signal is aborted first, it returns `abandoned` immediately. The work
 * then continues, and its result is ignored.
 */
export async function raceAbort<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T | typeof abandoned> {
  using watch = new AbortRace(signal);
  return await watch.raceAbort(work);
}

/** Returns the result of `work`. If `work` takes longer than `ms`, it returns `abandoned`. */
export async function raceTimeout<T>(
  work: Promise<T>,
  clock: Clock,
  ms: number,
): Promise<T | typeof abandoned> {
  work.catch(() => {});
  const timeout = Promise.withResolvers<typeof abandoned>();
  const cancel = clock.after(ms, () => timeout.resolve(abandoned));
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    cancel();
  }
}

/**
 * Lets many promises race against one abort signal, for example the steps of a stream. All races share one
 * listener on the signal.
 */
export class AbortRace implements Disposable {
  readonly #signal: AbortSignal;
  #abandon: () => void = () => {};
  readonly #onAbort = () => this.#abandon();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
  }

  /** Returns the result of `work`. If the signal is aborted first, it returns `abandoned` immediately. */
  raceAbort<T>(work: Promise<T>): Promise<T | typeof abandoned> {
    return new Promise((resolve, reject) => {
      this.#abandon = () => resolve(abandoned);
      if (this.#signal.aborted) resolve(abandoned);
      work.then(resolve, reject);
    });
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}
