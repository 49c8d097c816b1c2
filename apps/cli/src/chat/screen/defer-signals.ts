/** The part of `process` that receives and sends signals. */
export interface SignalProcess {
  readonly pid: number;
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Prevents the renderer from ending the process on the first signal. The renderer listens for
 * signals to restore the terminal, and exits if there is no other listener. This function adds such
 * a listener, so the run is stopped and stored first. A second signal ends the process at once.
 */
export function deferSignals(process: SignalProcess): () => void {
  let hasSignalled = false;
  const listen = (signal: NodeJS.Signals) => {
    if (!hasSignalled) {
      hasSignalled = true;
      return;
    }
    release();
    process.kill(process.pid, signal);
  };
  const release = () => {
    for (const signal of signals) process.removeListener(signal, listen);
  };
  for (const signal of signals) process.on(signal, listen);
  return release;
}
