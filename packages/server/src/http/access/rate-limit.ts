import type { Clock } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import type { HttpLimits } from '../http-limits.ts';

interface Bucket {
  tokens: number;
  at: number;
}

/** Maximum number of callers in memory. The least recent caller is removed first. */
const maxCallers = 10_000;

/** A token bucket per caller. */
export class RateLimit {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    clock: Pick<Clock, 'now'>,
    limits: Pick<HttpLimits, 'requestsPerSecond' | 'requestBurst'>,
  ) {
    this.#clock = clock;
    this.#perMs = limits.requestsPerSecond / 1000;
    this.#burst = limits.requestBurst;
  }

  /** Counts one request. Throws `rate_limited` if the caller's bucket is empty. */
  take(caller: string): void {
    const now = this.#clock.now();
    const bucket = this.#buckets.get(caller) ?? { tokens: this.#burst, at: now };
    const gained = Math.max(0, now - bucket.at) * this.#perMs;
    bucket.tokens = Math.min(this.#burst, bucket.tokens + gained);
    bucket.at = now;
    this.#store(caller, bucket);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return;
    }
    const retryAfterMs = Math.ceil((1 - bucket.tokens) / this.#perMs);
    const message = 'Cannot answer: this caller sends too many requests. Wait and retry';
    throw new ServerError('rate_limited', message, {}, { retryAfterMs });
  }

  /**
   * The map stays sorted by the time of the last request, because each request inserts its caller
   * again.
   */
  #store(caller: string, bucket: Bucket): void {
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size <= maxCallers) return;
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}
