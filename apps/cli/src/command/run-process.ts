import { resolve } from 'node:path';
import { exitCodes } from '../exit-code.ts';
import { failureOf } from './report-failure.ts';
import { runCommand } from './run-command.ts';
import { stopSignals } from './stop-signals.ts';

// What is left open by then, a connection that nobody waits for, is no reason to stay.
const graceMs = 2000;

/** The command as a process: the only place that looks at the real one. */
export async function runProcess(
  process: NodeJS.Process,
  argv: readonly string[],
): Promise<number> {
  const { env, stdin, stdout, stderr } = process;
  // A write that fails is told to whoever wrote; without a listener it would end the process.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  process.once('uncaughtException', (error) => {
    stderr.write(failureOf(error, env).text);
    process.exit(exitCodes.error);
  });
  const signal = stopSignals(process);
  const host = { argv, env, cwd: folderOf(process), stdin, stdout, stderr, signal };
  const exitCode = await runCommand(host);
  setTimeout(() => process.exit(), graceMs).unref();
  return exitCode;
}

/** One that was deleted meanwhile has no name any more; what to do then is said where it is used. */
function folderOf(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch {
    return resolve('/', process.env['PWD'] ?? 'a folder that is gone');
  }
}
