import { MillraceError } from '@millrace/core';

/** The functions of a process that receive signals. */
export interface SignalSource {
  once(signal: NodeJS.Signals, listener: () => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: () => void): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Returns a signal that aborts on the first process signal. The run then stops and stores its
 * state. After that, the listeners are removed, so a second process signal ends the process
 * immediately.
 */
export function abortOnSignals(process: SignalSource): AbortSignal {
  const stop = new AbortController();
  const removeListeners = () => {
    for (const signal of signals) process.removeListener(signal, onSignal);
  };
  const onSignal = () => {
    removeListeners();
    stop.abort('the process was told to stop');
  };
  for (const signal of signals) process.once(signal, onSignal);
  listenersOf.set(stop.signal, removeListeners);
  return stop.signal;
}

/** The functions that remove the listeners of `abortOnSignals`. */
const listenersOf = new WeakMap<AbortSignal, () => void>();

/**
 * From now on, a process signal ends the process immediately. Call it before synchronous work that can take
 * long, because no listener runs during such work.
 */
export function endOnSignals(signal: AbortSignal | undefined): void {
  if (signal !== undefined) listenersOf.get(signal)?.();
}

/** Thrown if a stop signal arrived before the command started its work. */
class StoppedError extends MillraceError<'stopped'> {
  constructor() {
    super('stopped', 'Stopped by a signal');
  }
}

/**
 * Waits for one step of the start. If the signal aborts first, throws a `StoppedError`. The step is
 * then ignored, because the process ends.
 */
export async function untilStopped<T>(signal: AbortSignal, step: Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(new StoppedError());
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([step, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // The result of the step is not used any more, so its error is ignored.
    step.catch(() => {});
  }
}
