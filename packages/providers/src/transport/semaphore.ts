import { checkCount } from './check-number.ts';

/** Limits the number of concurrent requests. Further requests wait in first-in, first-out order. */
export class Semaphore {
  readonly #max: number;
  #active = 0;
  readonly #waiting: (() => void)[] = [];

  /** Throws if the limit is not a whole number of 1 or more. */
  constructor(maxConcurrent: number) {
    checkCount('maxConcurrentRequests', maxConcurrent);
    this.#max = maxConcurrent;
  }

  /** Resolves when a slot is free, with a function that releases the slot. Rejects if the signal aborts. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#active < this.#max) this.#active++;
    else await this.#wait(signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#release();
    };
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const proceed = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(proceed);
    });
  }

  /** Releases a slot. The next waiting request gets the slot directly, so that no new request can take it. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#active--;
    else next();
  }
}
