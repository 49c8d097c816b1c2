import type { Limits } from '@millrace/core';
import { checkCount, checkDuration } from './check-number.ts';
import { type Clock, systemClock } from './clock.ts';
import { defaultTimeouts, type TimeoutOptions } from './deadlines.ts';
import { Semaphore } from './semaphore.ts';

/** How requests travel: what every provider that speaks HTTP takes. */
export interface TransportOptions {
  /** Instead of the global one: for a proxy, for tests, for cassettes. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
  readonly timeouts?: Partial<TimeoutOptions> | undefined;
  /** Requests of this provider that may be under way at once; the others wait their turn. */
  readonly maxConcurrentRequests?: number | undefined;
  /** Of the data of one event, in UTF-16 units. Pictures come as one event. */
  readonly maxEventLength?: number | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Whether requests say which trace they are part of, where they are part of one (`traceparent`,
   * `tracestate`): they do unless told. A header of that name among the provider's own goes first.
   */
  readonly sendsTrace?: boolean | undefined;
}

/** The same, complete, and shared by all requests of one provider. */
export interface Transport {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly timeouts: TimeoutOptions;
  readonly semaphore: Semaphore;
  readonly maxEventLength: number;
  readonly limits: Partial<Limits>;
  readonly sendsTrace: boolean;
}

const defaultMaxConcurrentRequests = 64;
const defaultMaxEventLength = 32 * 2 ** 20;

/** Throws a RangeError for a number that cannot be meant. */
export function createTransport(options: TransportOptions): Transport {
  const { clock = systemClock, timeouts = {}, limits = {} } = options;
  const { maxEventLength = defaultMaxEventLength } = options;
  checkCount('maxEventLength', maxEventLength);
  return {
    // Looked up at each call, so that a global that is replaced later counts.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    clock,
    timeouts: completeTimeouts(timeouts),
    semaphore: new Semaphore(options.maxConcurrentRequests ?? defaultMaxConcurrentRequests),
    maxEventLength,
    limits: { ...limits },
    sendsTrace: options.sendsTrace ?? true,
  };
}

/** `undefined` is as good as nothing. */
function completeTimeouts(given: Partial<TimeoutOptions>): TimeoutOptions {
  const set = Object.entries(given).filter(([, ms]) => ms !== undefined);
  for (const [name, ms] of set) checkDuration(name, ms);
  return { ...defaultTimeouts, ...Object.fromEntries(set) };
}
