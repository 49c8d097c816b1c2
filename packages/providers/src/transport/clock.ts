/** The clock that timeouts use. Tests inject one that they control. */
export interface Clock {
  /**
   * Milliseconds since 1970. Only differences matter, so a clock that is set back only delays
   * timeouts.
   */
  now(): number;
  /** Calls `run` once after `ms` milliseconds. The returned function cancels the call. */
  after(ms: number, run: () => void): () => void;
}

/** About 24 days. Node runs longer timers immediately. */
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
