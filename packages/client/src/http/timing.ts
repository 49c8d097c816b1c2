/** The source of time. Tests pass their own clock to avoid real delays. */
export interface Clock {
  /** Returns the current time in milliseconds since 1970. */
  now(): number;
  /** Calls `run` once after a delay. The returned function cancels the call. */
  after(ms: number, run: () => void): () => void;
}

/** The longest delay of `setTimeout`. It would run a longer timer at once. */
const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, maxTimerMs));
    return () => clearTimeout(timer);
  },
};

/**
 * Resolves after `ms` milliseconds, or earlier if `woken` resolves. Throws the signal's reason if the signal
 * is aborted.
 */
export function wait(
  clock: Clock,
  ms: number,
  { signal, woken }: { readonly signal?: AbortSignal | undefined; readonly woken?: Promise<void> },
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stopTimer = clock.after(ms, () => over(resolve));
    const onAbort = () => over(() => reject(signal?.reason));
    const over = (settle: () => void) => {
      stopTimer();
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    signal?.addEventListener('abort', onAbort);
    void woken?.then(() => over(resolve));
  });
}

/** The delays between attempts to reconnect. */
export interface BackOff {
  /** The upper limit of the first delay, in milliseconds. */
  readonly baseMs: number;
  readonly maxMs: number;
}

export const defaultBackOff: BackOff = { baseMs: 1000, maxMs: 30_000 };

/**
 * Returns the delay after a number of consecutive failures, in milliseconds. It is a random time up to a
 * limit, and the limit doubles with each failure (full jitter). Clients that lose their connections at the
 * same time therefore reconnect at different times.
 */
export function backOffMs(
  failures: number,
  { baseMs, maxMs }: BackOff,
  random: () => number,
): number {
  const limit = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(0, failures - 1), 30));
  return Math.round(random() * limit);
}
