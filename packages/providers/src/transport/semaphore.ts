import { checkCount } from './check-number.ts';

/** Lets a number of requests through at once; the others wait in the order in which they came. */
export class Gate {
  readonly #max: number;
  #inside = 0;
  readonly #waiting: (() => void)[] = [];

  /** Throws for what would let nobody through. */
  constructor(maxConcurrent: number) {
    checkCount('maxConcurrentRequests', maxConcurrent);
    this.#max = maxConcurrent;
  }

  /** Resolves when there is room, with the function that gives the room back; rejects on abort. */
  async enter(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#inside < this.#max) this.#inside++;
    else await this.#wait(signal);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#leave();
    };
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(go);
    });
  }

  /** The room goes straight to the next in line, so that nobody can step in between. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside--;
    else next();
  }
}
