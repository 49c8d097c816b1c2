import { type Clock, systemClock } from '../contract/clock.ts';

/** Smaller differences may be caused by the network delay. */
const slackMs = 500;

/**
 * The time of the database server. Each process judges leases itself, so all processes need the
 * same clock. A process whose clock is a minute ahead would take over every session.
 */
export class ServerClock implements Clock {
  #aheadMs = 0;

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  after(ms: number, run: () => void, options?: { readonly isIdle?: boolean }): () => void {
    return systemClock.after(ms, run, options);
  }

  /**
   * Sets the server's time. The two local times are those before the query and after the answer.
   */
  set(serverMs: number, askedAt: number, answeredAt: number): void {
    const aheadMs = serverMs - (askedAt + answeredAt) / 2;
    this.#aheadMs = Math.abs(aheadMs) < slackMs ? 0 : Math.round(aheadMs);
  }
}
