import { isIPv4 } from 'node:net';
import type { Clock } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';

interface Bucket {
  tokens: number;
  at: number;
}

/** Maximum number of callers in memory. Above it, the least recently used caller is removed. */
const maxCallers = 10_000;

interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Limits the rate of requests, with one token bucket per caller. */
export class RateLimit {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, 'now'>, { perSecond, burst }: Rate) {
    this.#clock = clock;
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
  }

  /** Counts one request. Throws `rate_limited` if the caller's bucket is empty. */
  take(caller: string): void {
    const bucket = this.#filled(caller);
    putNewest(this.#buckets, caller, bucket);
    if (bucket.tokens < 1) throw this.#limited(bucket);
    bucket.tokens -= 1;
  }

  /** Returns true if the caller's bucket is empty. */
  isReached(caller: string): boolean {
    return this.#filled(caller).tokens < 1;
  }

  #filled(caller: string): Bucket {
    const now = this.#clock.now();
    const { tokens, at } = this.#buckets.get(caller) ?? { tokens: this.#burst, at: now };
    const gained = Math.max(0, now - at) * this.#perMs;
    return { tokens: Math.min(this.#burst, tokens + gained), at: now };
  }

  #limited({ tokens }: Bucket): ServerError {
    const retryAfterMs = Math.ceil((1 - tokens) / this.#perMs);
    const message = 'Cannot answer: this caller sends too many requests. Wait and retry';
    return new ServerError('rate_limited', message, {}, { retryAfterMs });
  }
}

/**
 * Limits how often an address can send wrong tokens. Valid tokens are not affected. If an attacker and other
 * users share a proxy, the other users can still use the server.
 */
export class GuessLimit {
  readonly #failures: RateLimit;

  constructor(clock: Pick<Clock, 'now'>, rate: Rate) {
    this.#failures = new RateLimit(clock, rate);
  }

  /** Counts a wrong token. Throws `rate_limited` if the address has sent too many wrong tokens. */
  failed(address: string): void {
    this.#failures.take(networkOf(address));
  }

  /** Returns true if the address has sent too many wrong tokens. */
  isReached(address: string): boolean {
    return this.#failures.isReached(networkOf(address));
  }
}

/** Stores the entry at the end of the map. If the map is too large, it removes the oldest entry. */
function putNewest<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= maxCallers) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/**
 * Returns the network that counts as one caller. For IPv6 this is the /64 network, because one customer
 * usually owns all its addresses.
 */
function networkOf(address: string): string {
  const ipv4 = address.replace(/^::ffff:/i, '');
  if (isIPv4(ipv4)) return ipv4;
  const groups = address.split('%', 1)[0]?.split('::') ?? [];
  const head = groups[0]?.split(':').filter(Boolean) ?? [];
  const tail = groups[1]?.split(':').filter(Boolean) ?? [];
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}
