/** Where a process hears signals, and sends them. */
export interface Signalled {
  readonly pid: number;
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Whoever draws in the terminal listens to signals to give it back, and ends the process where nobody
 * else listens. Somebody does: what runs is stopped and kept first. A second signal is not waited with.
 */
export function holdSignals(process: Signalled): () => void {
  let isTold = false;
  const listen = (signal: NodeJS.Signals) => {
    if (!isTold) {
      isTold = true;
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
