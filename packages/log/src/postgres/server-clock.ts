import { type Clock, systemClock } from '../contract/clock.ts';

/** A clock that was set back less than this is taken for the delay of an answer. */
const slackMs = 500;

/**
 * The time of the database server. Each transaction gets it together with its rows and passes it to
 * `set`. In between, a clock that nobody can set counts on. Setting the clock of this machine has
 * therefore no effect on leases.
 */
export class ServerClock implements Clock {
  /** The server's time minus the local clock. Undefined until the server has answered. */
  #aheadMs: number | undefined;

  now(): number {
    return this.#aheadMs === undefined ? systemClock.now() : performance.now() + this.#aheadMs;
  }

  after(ms: number, run: () => void, options?: { readonly isIdle?: boolean }): () => void {
    return systemClock.after(ms, run, options);
  }

  /**
   * Sets the server's time, as of an answer that has just arrived. An answer takes time, so the
   * server's clock is never behind this. A slower answer changes nothing: records keep their order.
   */
  set(serverMs: number): void {
    const aheadMs = serverMs - performance.now();
    const known = this.#aheadMs ?? Number.NEGATIVE_INFINITY;
    if (aheadMs > known || aheadMs < known - slackMs) this.#aheadMs = aheadMs;
  }
}
