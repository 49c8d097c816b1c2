import { type Clock, systemClock } from '../contract/clock.ts';

/**
 * If the server's time goes back by less than this, the reason is the delay of an answer and not a change
 * of the clock.
 */
const slackMs = 500;

/**
 * The time of the database server. Each transaction reads the server's time together with its rows and
 * passes it to `set`. Between two transactions, a clock that cannot be set measures the time. Setting the
 * clock of this machine therefore has no effect on leases.
 */
export class ServerClock implements Clock {
  /** The server's time minus the local clock, in milliseconds. Undefined until the server has answered. */
  #aheadMs: number | undefined;

  now(): number {
    return this.#aheadMs === undefined ? systemClock.now() : performance.now() + this.#aheadMs;
  }

  after(ms: number, run: () => void, options?: { readonly isIdle?: boolean }): () => void {
    return systemClock.after(ms, run, options);
  }

  /**
   * Sets the server's time from an answer that has just arrived. Because the answer took time, the server's
   * clock is never behind this value. If a slower answer gives an earlier time, nothing changes, so times
   * of records do not go back.
   */
  set(serverMs: number): void {
    const aheadMs = serverMs - performance.now();
    const known = this.#aheadMs ?? Number.NEGATIVE_INFINITY;
    if (aheadMs > known || aheadMs < known - slackMs) this.#aheadMs = aheadMs;
  }
}
