/** A source of time. Tests inject their own, so that they do not have to wait. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Calls `run` once after a delay. The returned function cancels it. With `isIdle: true` the timer
   * does not keep the process alive. Default: false.
   */
  after(ms: number, run: () => void, options?: { readonly isIdle?: boolean }): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, { isIdle = false } = {}) {
    const timer = setTimeout(run, ms);
    if (isIdle) timer.unref();
    return () => clearTimeout(timer);
  },
};
