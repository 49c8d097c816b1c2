import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Program } from './program.ts';

/**
 * Creates the home folder and the working folder of a program. They are kept between starts, as on
 * a user's machine.
 */
export function makeHome(folder: string, { files = {} }: Pick<Program, 'files'>): string {
  mkdirSync(join(folder, 'work'), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/**
 * Returns the milliseconds from the start to the exit of a program that only prints its version.
 */
export async function msToVersion({ argv }: Program, home: string): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [...argv], { ...spawnOptions(home, {}), stdio: 'ignore' });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${argv.join(' ')} exited with ${code}`);
  return performance.now() - start;
}

const size = 'stty cols 100 rows 30';

/** Returns the milliseconds from the start until the prompt appears in a terminal. */
export async function msToPrompt(program: Program, home: string): Promise<number> {
  const start = performance.now();
  const child = startInTerminal(program, home);
  try {
    await waitForText(child, program.prompt, program.name);
    return performance.now() - start;
  } finally {
    await exit(child);
  }
}

/** Starts a program in a terminal of 100 columns and 30 rows. */
export function startInTerminal(
  { argv, env = {} }: Pick<Program, 'argv' | 'env'>,
  home: string,
): ChildProcess {
  const command = [process.execPath, ...argv].map((word) => `'${word}'`).join(' ');
  // `script` provides a terminal without a native module.
  return spawn('script', ['-qec', `${size}; exec ${command}`, '/dev/null'], {
    ...spawnOptions(home, env),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

function spawnOptions(home: string, env: Readonly<Record<string, string>>) {
  const terminal = { TERM: 'xterm-256color', COLORTERM: 'truecolor' };
  const own = { HOME: home, PATH: process.env['PATH'], SHELL: '/bin/sh' };
  return { cwd: join(home, 'work'), env: { ...own, ...terminal, ...env } };
}

/** After this time, a program without its prompt is killed, and the bench fails. */
const promptTimeoutMs = 60_000;

/** Waits until a text is on the screen of a terminal. */
export async function waitForText(
  child: ChildProcess,
  prompt: string,
  name: string,
): Promise<void> {
  const { stdout } = child;
  let screen = '';
  const timer = setTimeout(() => child.kill('SIGKILL'), promptTimeoutMs);
  for await (const chunk of stdout?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ??
    []) {
    screen += chunk;
    if (!screen.includes(prompt)) continue;
    clearTimeout(timer);
    return;
  }
  clearTimeout(timer);
  throw new Error(
    `${name} ended before its prompt. Its output: ${JSON.stringify(screen.slice(-500))}`,
  );
}

const timeoutMs = 3000;

/** Sends Ctrl-D until the program exits, and kills it after a timeout. */
export async function exit(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = once(child, 'close');
  child.stdout?.resume();
  child.stdin?.on('error', () => {});
  const sendExit = setInterval(() => child.stdin?.write('\u0004'), 200);
  const killTimer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await closed;
  clearInterval(sendExit);
  clearTimeout(killTimer);
}
