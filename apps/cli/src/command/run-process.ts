import { resolve } from 'node:path';
import { exitCodes } from '../exit-code.ts';
import { describeFailure } from './report-failure.ts';
import { runCommand } from './run-command.ts';

// What is left open by then, a connection that nobody waits for, is no reason to stay.
const exitGraceMs = 2000;

/** The command as a process: the only place that looks at the real one. */
export async function runProcess(
  process: NodeJS.Process,
  argv: readonly string[],
): Promise<number> {
  const { env, stdin, stdout, stderr } = process;
  // A write that fails is told to whoever wrote; without a listener it would end the process.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  process.once('uncaughtException', (error) => {
    stderr.write(describeFailure(error, env).text);
    process.exit(exitCodes.error);
  });
  const signal = abortOnSignals(process);
  const host = { argv, env, cwd: currentFolder(process), stdin, stdout, stderr, signal };
  const exitCode = await runCommand(host);
  setTimeout(() => process.exit(), exitGraceMs).unref();
  return exitCode;
}

/** One that was deleted meanwhile has no name any more; what to do then is said where it is used. */
function currentFolder(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch {
    return resolve('/', process.env['PWD'] ?? 'a folder that is gone');
  }
}

/** Where a process hears that it is to stop. */
export interface SignalSource {
  once(signal: NodeJS.Signals, listener: () => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: () => void): unknown;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * The first one stops what runs, which keeps what was said. Whoever sends another does not want to wait
 * for that: nobody listens any more, and the process ends as any other would.
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
