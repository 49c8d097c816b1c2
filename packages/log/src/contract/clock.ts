/** Time, injected, so that tests need not wait for it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Calls back once, unless the returned function is called before. An idle one does not keep a
   * process alive.
   */
  after(ms: number, run: () => void, options?: { readonly isIdle?: boolean }): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, { isIdle = false } = {}) {
    const timer = setTimeout(run, ms);
    if (isIdle) timer.unref();
    return () => clearTimeout(timer);
  },
};
