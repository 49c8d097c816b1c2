import { checkCount } from './check-number.ts';

/** Lets a number of requests through at once; the others wait in the order in which they came. */
export class Semaphore {
  readonly #max: number;
  #active = 0;
  readonly #waiting: (() => void)[] = [];

  /** Throws for what would let nobody through. */
  constructor(maxConcurrent: number) {
    checkCount('maxConcurrentRequests', maxConcurrent);
    this.#max = maxConcurrent;
  }

  /** Resolves when there is room, with the function that gives the room back; rejects on abort. */
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

  /** The room goes straight to the next in line, so that nobody can step in between. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#active--;
    else next();
  }
}
