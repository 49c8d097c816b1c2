import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

interface ServeProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** The output so far. */
  readonly output: { stdout: string; stderr: string };
  /** Sends a signal and waits until the process has ended. */
  end(signal: NodeJS.Signals): Promise<{ readonly code: number | null }>;
}

/** Starts `millrace serve` as a process and waits until it listens. It is killed after the test. */
export async function serveProcess(
  flags: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ServeProcess> {
  const started = startServe(flags, folder, env);
  const { child, output, exit } = started;
  const listening = /listens on (\S+)/;
  while (!listening.test(output.stdout)) {
    const ended = await Promise.race([exit, once(child.stdout, 'data').then(() => undefined)]);
    if (ended !== undefined) throw new Error(`The server did not start: ${output.stderr}`);
  }
  return {
    ...{ child, output, url: listening.exec(output.stdout)?.[1] ?? '' },
    async end(signal) {
      child.kill(signal);
      return exit;
    },
  };
}

/** Starts the process without waiting. */
function startServe(
  flags: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
) {
  const { PATH = '' } = process.env;
  const child = spawn(
    process.execPath,
    ['--conditions=@millrace/source', main, 'serve', ...flags],
    { cwd: folder, env: { PATH, HOME: folder, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  const exit = once(child, 'close').then(([code]) => ({ code: code as number | null }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return { child, output, exit };
}
