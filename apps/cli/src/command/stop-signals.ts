/** Where a process hears that it is to stop. */
export interface Interruptible {
  once(signal: NodeJS.Signals, listener: () => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: () => void): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * The first one stops what runs, which keeps what was said. Whoever sends another does not want to wait
 * for that: nobody listens any more, and the process ends as any other would.
 */
export function stopSignals(process: Interruptible): AbortSignal {
  const stop = new AbortController();
  const listen = () => {
    for (const signal of signals) process.removeListener(signal, listen);
    stop.abort('the process was told to stop');
  };
  for (const signal of signals) process.once(signal, listen);
  return stop.signal;
}
