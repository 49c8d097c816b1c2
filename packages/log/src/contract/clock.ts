/** A source of time. Tests pass their own clock, so that they do not have to wait. */
export interface Clock {
  /** Returns the current time in milliseconds since 1970. */
  now(): number;
  /**
   * Calls `run` once after a delay. The returned function cancels the call. With `isIdle: true` the timer
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

/**
 * Runs a callback after the current round of the event loop. `setTimeout` would wait for at least 1 ms. The
 * returned function cancels the call.
 */
function soon(run: () => void): () => void {
  const { setImmediate, clearImmediate } = globalThis as ImmediateGlobal;
  if (setImmediate === undefined || clearImmediate === undefined) {
    const timer = setTimeout(run);
    return () => clearTimeout(timer);
  }
  const task = setImmediate(run);
  return () => clearImmediate(task);
}

/** Resolves after waiting timers and input of the process have had a chance to run. */
export function nextTask(): Promise<void> {
  const { setImmediate = setTimeout } = globalThis as ImmediateGlobal;
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Functions that Node, Bun and Deno have. Browsers have only `setTimeout`, which waits slightly longer. */
interface ImmediateGlobal {
  readonly setImmediate?: (run: () => void) => unknown;
  readonly clearImmediate?: (task: unknown) => void;
}

interface DenoGlobal {
  readonly Deno?: { readonly unrefTimer?: (timer: unknown) => void };
}

/**
 * Lets the process end although the timer waits. Node and Bun have a method of the timer for this, and Deno
 * has a global function. In browsers and workerd, a timer is a number and does not keep the program running.
 */
function detachTimer(timer: unknown): void {
  if (typeof timer === 'object') (timer as { readonly unref?: () => void } | null)?.unref?.();
  else (globalThis as DenoGlobal).Deno?.unrefTimer?.(timer);
}
