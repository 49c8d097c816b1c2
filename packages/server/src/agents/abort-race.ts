import type { Clock } from '@millrace/log';

/** The result of a race that the work lost. */
export const abandoned: unique symbol = Symbol('left');

/**
 * Waits for `work`, or returns `abandoned` as soon as the signal is aborted. The work continues,
 * and its result is ignored.
 */
export async function raceAbort<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T | typeof abandoned> {
  using watch = new AbortRace(signal);
  return await watch.raceAbort(work);
}

/** Waits for `work`, or returns `abandoned` after `ms`. */
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
 * Races many promises against one signal, such as the steps of a stream. It registers a single
 * listener.
 */
export class AbortRace implements Disposable {
  readonly #signal: AbortSignal;
  #abandon: () => void = () => {};
  readonly #onAbort = () => this.#abandon();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
  }

  /** Waits for `work`, or returns `abandoned` as soon as the signal is aborted. */
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
