import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { childEnv } from '../../../../packages/core/src/testing/runs.ts';
import { builtProgram } from './built-program.ts';

export interface ServeProcess {
  readonly url: string;
  /**
   * The token that the server created. It is read from the file that the start message mentions.
   */
  readonly token: string;
  readonly child: ChildProcess;
  /** The output up to now. */
  readonly output: { stdout: string; stderr: string };
  /** Sends a signal and waits until the process has ended. */
  end(signal: NodeJS.Signals): Promise<{ readonly code: number | null }>;
}

/**
 * Starts `millrace serve` as a process and waits until it listens. `atEnd` receives a function that
 * kills the process. Default: the process is killed after the test.
 */
export async function serveProcess(
  flags: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
  atEnd: (kill: () => Promise<void>) => void = onTestFinished,
): Promise<ServeProcess> {
  const { child, output, exit } = startServe(flags, folder, env);
  atEnd(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const listening = /listens on (\S+)/;
  // The example commands are the last lines of the start message.
  while (!/curl -N.*\/stream/.test(output.stdout)) {
    const ended = await Promise.race([exit, once(child.stdout, 'data').then(() => undefined)]);
    if (ended !== undefined) throw new Error(`The server did not start: ${output.stderr}`);
  }
  return {
    ...{ child, output, url: listening.exec(output.stdout)?.[1] ?? '' },
    token: tokenNamedIn(output.stdout) ?? '',
    async end(signal) {
      child.kill(signal);
      return exit;
    },
  };
}

/** Reads the token from the file that the example commands of the server mention. */
export function tokenNamedIn(startMessage: string): string | undefined {
  const path = /sed 's.\^.authorization: Bearer \/' '([^']+)'/.exec(startMessage)?.[1];
  return path === undefined ? undefined : readFileSync(path, 'utf8').trim();
}

/** Starts the process and returns immediately. */
function startServe(
  flags: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
) {
  const child = spawn(process.execPath, [builtProgram(), 'serve', ...flags], {
    ...{ cwd: folder, env: { ...childEnv(), HOME: folder, ...env } },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  const exit = once(child, 'close').then(([code]) => ({ code: code as number | null }));
  return { child, output, exit };
}
