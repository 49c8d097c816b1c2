/**
 * Waits for a promise, but rejects with the reason of the signal as soon as the signal aborts. The work
 * behind the promise may ignore the signal. Its later result is then dropped. The listener is removed
 * when the promise settles, so a long-lived signal does not collect listeners.
 *
 * @example
 * const answer = await abortable(askPerson(question), signal);
 */
export async function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
