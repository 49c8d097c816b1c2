import type { Clock } from '@millrace/log';

export const left: unique symbol = Symbol('left');

/** What comes of it, or `left` as soon as nobody waits any more. What then becomes of it is nobody's business. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T | typeof left> {
  work.catch(() => {});
  if (signal.aborted) return left;
  const aborted = Promise.withResolvers<typeof left>();
  const onAbort = () => aborted.resolve(left);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The same, by the clock. */
export async function unlessLate<T>(
  work: Promise<T>,
  clock: Clock,
  ms: number,
): Promise<T | typeof left> {
  work.catch(() => {});
  const late = Promise.withResolvers<typeof left>();
  const cancel = clock.after(ms, () => late.resolve(left));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
