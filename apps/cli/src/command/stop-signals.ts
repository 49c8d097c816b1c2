/** The part of a process that receives signals. */
export interface SignalSource {
  once(signal: NodeJS.Signals, listener: () => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: () => void): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Aborts on the first signal, so that the run stops and stores its state. The listeners are then
 * removed, so a second signal ends the process at once.
 */
export function abortOnSignals(process: SignalSource): AbortSignal {
  const stop = new AbortController();
  const onSignal = () => {
    for (const signal of signals) process.removeListener(signal, onSignal);
    stop.abort('the process was told to stop');
  };
  for (const signal of signals) process.once(signal, onSignal);
  return stop.signal;
}
