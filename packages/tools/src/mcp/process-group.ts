import type { ChildProcess } from 'node:child_process';

/**
 * A child that leads a group of its own: a wrapper as `npx` dies with the server that it started, and
 * Ctrl-C at the terminal, which is meant for us, does not reach either. Windows has no such groups.
 */
export const ownGroup: boolean = process.platform !== 'win32';

/** Those that run, so that none stays when we leave without saying so. */
const running = new Set<ChildProcess>();

export function watchGroup(child: ChildProcess): void {
  if (running.size === 0) process.on('exit', endAll);
  running.add(child);
}

/** To be called when it ended; takes those with it that it left behind. */
export function forgetGroup(child: ChildProcess): void {
  if (ownGroup) signalGroup(child, 'SIGKILL');
  running.delete(child);
  if (running.size === 0) process.off('exit', endAll);
}

export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(ownGroup ? -child.pid : child.pid, signal);
  } catch {
    // Nobody is left.
  }
}

function endAll(): void {
  for (const child of running) signalGroup(child, 'SIGTERM');
}
