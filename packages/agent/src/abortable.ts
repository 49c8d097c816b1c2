import type { Clock } from '@millrace/providers';

/** Stands for what was not waited for. */
export const halted: unique symbol = Symbol('halted');

/** How long what is to stop is waited for all the same. */
interface GracePeriod {
  readonly clock: Clock;
  readonly ms: number;
}

/** What somebody else's code comes to, unless the signal aborts before: an abort waits for nobody. */
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

/** Resolves when so much time is gone, or at once when the signal aborts. */
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
