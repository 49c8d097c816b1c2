import type { Clock } from '@millrace/log';

export const abandoned: unique symbol = Symbol('left');

/** What comes of it, or `left` as soon as nobody waits any more. What then becomes of it is nobody's business. */
export async function raceAbort<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T | typeof abandoned> {
  using watch = new AbortRace(signal);
  return await watch.raceAbort(work);
}

/** The same, by the clock. */
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

/** `unlessAborted` for one thing after another, as a stream has them: one listener for all of them. */
export class AbortRace implements Disposable {
  readonly #signal: AbortSignal;
  #abandon: () => void = () => {};
  readonly #onAbort = () => this.#abandon();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
  }

  /** What comes of it, or `left` as soon as the signal is aborted. */
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
