import { type Clock, systemClock } from '../contract/clock.ts';

/**
 * A slow answer can make the server's time go back by less than this number of milliseconds. A larger
 * difference means that somebody has changed the server's clock.
 */
const slackMs = 500;

/**
 * The time of the database server. Each transaction reads the server's time together with its rows and passes
 * it to `set`. Between two transactions, a monotonic clock measures the time. A change of this machine's
 * clock therefore has no effect on leases.
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
   * Sets the server's time from an answer that has just arrived. The answer took some time to arrive, so the
   * server's clock is never behind this value. If a slow answer contains an earlier time, it is ignored, so
   * that the times of records do not go back.
   */
  set(serverMs: number): void {
    const aheadMs = serverMs - performance.now();
    const known = this.#aheadMs ?? Number.NEGATIVE_INFINITY;
    if (aheadMs > known || aheadMs < known - slackMs) this.#aheadMs = aheadMs;
  }
}
