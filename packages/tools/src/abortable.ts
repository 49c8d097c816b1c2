/**
 * Waits for a promise. When the signal aborts, it rejects immediately with the reason of the signal. The work
 * itself may ignore the signal, and its later result is dropped. The listener is removed when the promise
 * settles, so a long-lived signal does not collect listeners.
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
