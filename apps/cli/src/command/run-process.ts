import { resolve } from 'node:path';
import { exitCodes } from '../exit-code.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { describeFailure } from './report-failure.ts';
import { runCommand } from './run-command.ts';
import { abortOnSignals, pauseOnSuspend } from './stop-signals.ts';

// Maximum time by which open connections can delay the end of the process.
const exitGraceMs = 2000;

/**
 * Runs the command in the real process. This is the only module that reads the arguments, streams
 * and signals of the process.
 */
export async function runProcess(
  process: NodeJS.Process,
  argv: readonly string[],
): Promise<number> {
  const { env, stdin, stdout, stderr } = process;
  // `Output` handles failed writes. Without this listener, the error event would end the process.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  process.once('uncaughtException', (error) => {
    writeText(stderr, describeFailure(error, env).text);
    process.exit(exitCodes.error);
  });
  const signal = abortOnSignals(process);
  pauseOnSuspend(process);
  const host = { argv, env, cwd: currentFolder(process), stdin, stdout, stderr, signal };
  const exitCode = await runCommand(host);
  setTimeout(() => process.exit(), exitGraceMs).unref();
  return exitCode;
}

/**
 * Returns the working folder. A deleted folder has no path. In this case, the error is reported
 * when the folder is used.
 */
function currentFolder(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch {
    return resolve('/', process.env['PWD'] ?? 'deleted-folder');
  }
}
