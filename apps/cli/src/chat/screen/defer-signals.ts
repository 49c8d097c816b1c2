/** The functions of `process` that receive and send signals. */
export interface SignalProcess {
  readonly pid: number;
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Prevents the renderer from ending the process on the first signal. The renderer listens for
 * signals to restore the terminal. If no other listener exists, it then exits. This function adds a
 * listener, so that the run can stop and be stored first. A second signal ends the process
 * immediately.
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
