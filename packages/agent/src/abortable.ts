import type { Clock } from '@millrace/providers';

/** `raceAbort` resolves with this value if the signal aborts first. */
export const halted: unique symbol = Symbol('halted');

/**
 * The reason that every abort inside a run uses. All aborts share this one error, because creating an error
 * costs more than the abort itself. The error is not a `DOMException`, because some runtimes do not have that
 * class.
 */
const stopped = Object.assign(new Error('This operation was aborted'), { name: 'AbortError' });

/**
 * Returns a signal that is already aborted. This is a function and not a constant, because Cloudflare Workers
 * cannot create an aborted signal while a module loads.
 */
export function abortedSignal(): AbortSignal {
  return AbortSignal.abort(stopped);
}

/**
 * Aborts the controller with the shared error. Every run ends with several aborts, and sharing one error
 * saves the cost of creating one for each abort.
 */
export function abort(controller: AbortController): void {
  if (!controller.signal.aborted) controller.abort(stopped);
}

/** The time for which `raceAbort` continues to wait for the work after an abort. */
interface GracePeriod {
  readonly clock: Clock;
  readonly ms: number;
}

/**
 * Waits for `work`. Resolves with `halted` if the signal aborts first. With a grace period, it resolves with
 * `halted` only after that period. A promise from user code that never settles therefore cannot block an
 * abort.
 */
export function raceAbort<T>(
  work: Promise<T>,
  signal: AbortSignal,
  grace?: GracePeriod,
): Promise<T | typeof halted> {
  return new Promise((resolve, reject) => {
    let cancel = () => {};
    const giveUp = () => resolve(halted);
    const onAbort = () => {
      if (grace === undefined) giveUp();
      else cancel = grace.clock.after(grace.ms, giveUp);
    };
    const leave = () => {
      cancel();
      signal.removeEventListener('abort', onAbort);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    work.then(
      (value) => {
        leave();
        resolve(value);
      },
      (error: unknown) => {
        leave();
        reject(error);
      },
    );
  });
}

/** Resolves after `ms` milliseconds, or immediately when the signal aborts. */
export function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal.addEventListener('abort', done);
  });
}
