import { MillraceError } from '@millrace/core';

/** The functions of a process that receive signals and end it. */
export interface SignalSource {
  readonly pid: number;
  once(event: NodeJS.Signals | 'exit', listener: () => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: () => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
  exit(): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Returns a signal that aborts on the first process signal. The run then stops and stores its
 * state. A second process signal ends the process immediately. Before that, the listeners for the exit
 * run: they kill the commands, and let the sandbox check which files the commands created.
 */
export function abortOnSignals(process: SignalSource): AbortSignal {
  const stop = new AbortController();
  const listeners = new Map(signals.map((name) => [name, () => onSignal(name)]));
  const removeListeners = () => {
    for (const [name, listener] of listeners) process.removeListener(name, listener);
  };
  const listen = () => {
    for (const [name, listener] of listeners) process.once(name, listener);
  };
  const onSignal = (name: NodeJS.Signals) => {
    removeListeners();
    if (!stop.signal.aborted) {
      listen();
      stop.abort('the process was told to stop');
      return;
    }
    // Without a listener, the signal ends the process, so its parent learns the signal.
    process.once('exit', () => void process.kill(process.pid, name));
    process.exit();
  };
  listen();
  listenersOf.set(stop.signal, removeListeners);
  return stop.signal;
}

/**
 * Pauses the commands when the terminal suspends this process (Ctrl-Z), because a stopped process does not check what
 * its commands create.
 */
export function pauseOnSuspend(process: NodeJS.Process): void {
  process.on('SIGTSTP', async () => {
    // If commands run, this module is loaded, so the process stops at once.
    const { pauseCommandsNow } = await import('@millrace/tools');
    process.once('SIGCONT', pauseCommandsNow());
    process.kill(process.pid, 'SIGSTOP');
  });
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
