/** Time, injected, so that tests need not wait for it. */
export interface Clock {
  /** Milliseconds since 1970. Only differences count, so a clock that is set back delays at worst. */
  now(): number;
  /** Calls back once, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

/** Some 24 days. Timers that are set for longer fire at once. */
const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    if (ms > maxTimerMs) return () => {};
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
