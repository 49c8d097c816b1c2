/** The clock that timeouts use. Tests pass a clock that they control. */
export interface Clock {
  /**
   * Returns the milliseconds since 1970. Only differences between times are used. If the clock is set back,
   * timeouts are only delayed.
   */
  now(): number;
  /** Calls `run` once after `ms` milliseconds. The returned function cancels the call. */
  after(ms: number, run: () => void): () => void;
}

/** The longest delay that a timer supports, about 24 days. Node runs longer timers immediately. */
const maxTimerMs = 2 ** 31 - 1;

/** The real clock. It uses `Date.now` and `setTimeout`. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    if (ms > maxTimerMs) return () => {};
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after the delay, or when the signal aborts. */
export function waitFor(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done);
  });
}

/**
 * Resolves with the value of the promise, or with undefined if the time expires first. Without a time, it
 * waits for the promise.
 */
export async function within<T>(
  promise: Promise<T>,
  ms: number | undefined,
  clock: Clock,
): Promise<T | undefined> {
  if (ms === undefined) return promise;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(ms, () => resolve(undefined));
  return Promise.race([promise, late]).finally(cancel);
}
