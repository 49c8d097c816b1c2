import type { Clock } from '@millrace/providers';

/** The value of `raceAbort` if the signal aborts first. */
export const halted: unique symbol = Symbol('halted');

/**
 * The reason of all aborts inside a run. To create one costs more than the abort itself. Not every
 * runtime has `DOMException`.
 */
const stopped = Object.assign(new Error('This operation was aborted'), { name: 'AbortError' });

/** Returns a signal that is aborted. Workers of Cloudflare cannot create one while a module loads. */
export function abortedSignal(): AbortSignal {
  return AbortSignal.abort(stopped);
}

/** Aborts without creating a new error. Every run ends with several aborts, even if it is not stopped. */
export function abort(controller: AbortController): void {
  if (!controller.signal.aborted) controller.abort(stopped);
}

/** How long to keep waiting after the abort. */
interface GracePeriod {
  readonly clock: Clock;
  readonly ms: number;
}

/**
 * Waits for `work`, but resolves with `halted` if the signal aborts first. User code that never
 * settles must not block an abort.
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

/** Resolves after `ms` milliseconds, or at once if the signal aborts. */
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
