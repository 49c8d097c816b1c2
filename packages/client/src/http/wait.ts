import type { Clock } from '../clock.ts';

/** Resolves when the time is over, or when it is woken; throws the signal's reason when that aborts. */
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
