import { type Clock, systemClock } from '../contract/clock.ts';

/** Less than this may be the way to the server and back. */
const slackMs = 500;

/**
 * The database's time. Leases are judged by whoever looks, so all who share a store have to share a
 * clock: one machine's that is a minute ahead would take every run from the others.
 */
export class ServerClock implements Clock {
  #aheadMs = 0;

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  after(ms: number, run: () => void, options?: { readonly isIdle?: boolean }): () => void {
    return systemClock.after(ms, run, options);
  }

  /** What the server said, which was asked at one time of this machine and answered at another. */
  set(serverMs: number, askedAt: number, answeredAt: number): void {
    const aheadMs = serverMs - (askedAt + answeredAt) / 2;
    this.#aheadMs = Math.abs(aheadMs) < slackMs ? 0 : Math.round(aheadMs);
  }
}
