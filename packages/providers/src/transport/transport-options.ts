import type { ContentLimits } from '@millrace/core';
import { checkCount, checkDuration } from './check-number.ts';
import { type Clock, systemClock } from './clock.ts';
import { defaultTimeouts, type TimeoutOptions } from './deadlines.ts';
import { Semaphore } from './semaphore.ts';

/** The options that control how an HTTP provider sends requests. */
export interface TransportOptions {
  /**
   * The fetch that sends the requests, for example for a proxy, tests or cassettes. Default: the global
   * `fetch`.
   */
  readonly fetch?: typeof fetch | undefined;
  /** The clock for the timeouts. Default: `systemClock`. */
  readonly clock?: Clock | undefined;
  /** The timeouts of a response. Default: see `TimeoutOptions`. */
  readonly timeouts?: Partial<TimeoutOptions> | undefined;
  /**
   * Maximum number of concurrent requests of this provider. Further requests wait in a queue. Default: 64.
   */
  readonly maxConcurrentRequests?: number | undefined;
  /**
   * Maximum length of an event's data, in UTF-16 units. One event can contain a whole image. Default:
   * 33,554,432 (32 Mi).
   */
  readonly maxEventLength?: number | undefined;
  /** Limits on the deltas that the stream writes. Default: the limits of `@millrace/core`. */
  readonly limits?: Partial<ContentLimits> | undefined;
  /**
   * If true, requests send their trace in the headers `traceparent` and `tracestate`. If `headers` contains a
   * header of the same name, that header takes precedence. Default: true.
   */
  readonly sendsTrace?: boolean | undefined;
}

/** The transport options with all defaults. All requests of a provider use the same object. */
export interface Transport {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly timeouts: TimeoutOptions;
  readonly semaphore: Semaphore;
  readonly maxEventLength: number;
  readonly limits: Partial<ContentLimits>;
  readonly sendsTrace: boolean;
}

const defaultMaxConcurrentRequests = 64;
const defaultMaxEventLength = 32 * 2 ** 20;

/** Adds the defaults to the options. Throws a RangeError if an option has an invalid number. */
export function createTransport(options: TransportOptions): Transport {
  const { clock = systemClock, timeouts = {}, limits = {} } = options;
  const { maxEventLength = defaultMaxEventLength } = options;
  checkCount('maxEventLength', maxEventLength);
  return {
    // The global function is looked up at each call, so that a later replacement takes effect.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    clock,
    timeouts: completeTimeouts(timeouts),
    semaphore: new Semaphore(options.maxConcurrentRequests ?? defaultMaxConcurrentRequests),
    maxEventLength,
    limits: { ...limits },
    sendsTrace: options.sendsTrace ?? true,
  };
}

/** Returns the timeouts. Undefined values are replaced by defaults. */
function completeTimeouts(given: Partial<TimeoutOptions>): TimeoutOptions {
  const set = Object.entries(given).filter(([, ms]) => ms !== undefined);
  for (const [name, ms] of set) checkDuration(name, ms);
  return { ...defaultTimeouts, ...Object.fromEntries(set) };
}
