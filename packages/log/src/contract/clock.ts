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
    if (ms <= 0 && !isIdle) return soon(run);
    const timer = setTimeout(run, ms);
    if (isIdle) detachTimer(timer);
    return () => clearTimeout(timer);
  },
};

/** Runs a callback after the current round of the event loop. A timer would wait for 1 ms at least. */
function soon(run: () => void): () => void {
  const { setImmediate, clearImmediate } = globalThis as ImmediateGlobal;
  if (setImmediate === undefined || clearImmediate === undefined) {
    const timer = setTimeout(run);
    return () => clearTimeout(timer);
  }
  const task = setImmediate(run);
  return () => clearImmediate(task);
}

/** Lets timers and input of the process run before the caller continues. */
export function nextTask(): Promise<void> {
  const { setImmediate = setTimeout } = globalThis as ImmediateGlobal;
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Browsers have only `setTimeout`, which waits a little longer. */
interface ImmediateGlobal {
  readonly setImmediate?: (run: () => void) => unknown;
  readonly clearImmediate?: (task: unknown) => void;
}

interface DenoGlobal {
  readonly Deno?: { readonly unrefTimer?: (timer: unknown) => void };
}

/**
 * Lets the process end while the timer waits. Node and Bun have a method for this, and Deno a
 * function. Browsers and workerd keep nothing alive for a timer, and their timers are numbers.
 */
function detachTimer(timer: unknown): void {
  if (typeof timer === 'object') (timer as { readonly unref?: () => void } | null)?.unref?.();
  else (globalThis as DenoGlobal).Deno?.unrefTimer?.(timer);
}
