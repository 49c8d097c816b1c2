import type { Clock } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import type { HttpLimits } from '../http-limits.ts';

interface Bucket {
  tokens: number;
  at: number;
}

/** Of so many callers is remembered how much they asked; beyond, the one that was quiet longest is forgotten. */
const maxCallers = 10_000;

/** A bucket of tokens for each caller, which fills with time. */
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

  /** Throws where a caller asked too often. */
  take(caller: string): void {
    const now = this.#clock.now();
    const bucket = this.#buckets.get(caller) ?? { tokens: this.#burst, at: now };
    const gained = Math.max(0, now - bucket.at) * this.#perMs;
    bucket.tokens = Math.min(this.#burst, bucket.tokens + gained);
    bucket.at = now;
    this.#keep(caller, bucket);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return;
    }
    const retryAfterMs = Math.ceil((1 - bucket.tokens) / this.#perMs);
    const message = 'Cannot answer so many requests of one caller. Wait, and ask less often';
    throw new ServerError('rate_limited', message, {}, { retryAfterMs });
  }

  /** The map is in the order in which callers were last heard. */
  #keep(caller: string, bucket: Bucket): void {
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size <= maxCallers) return;
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}
