import { left } from './unless-aborted.ts';

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
