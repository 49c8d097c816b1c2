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
export async function msToPrompt(
  { name, argv, prompt, env = {} }: Program,
  home: string,
): Promise<number> {
  const command = [process.execPath, ...argv].map((word) => `'${word}'`).join(' ');
  const start = performance.now();
  // `script` provides a terminal without a native module.
  const child = spawn('script', ['-qec', `${size}; exec ${command}`, '/dev/null'], {
    ...spawnOptions(home, env),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    await waitForText(child, prompt, name);
    return performance.now() - start;
  } finally {
    await exit(child);
  }
}

function spawnOptions(home: string, env: Readonly<Record<string, string>>) {
  const terminal = { TERM: 'xterm-256color', COLORTERM: 'truecolor' };
  const own = { HOME: home, PATH: process.env['PATH'], SHELL: '/bin/sh' };
  return { cwd: join(home, 'work'), env: { ...own, ...terminal, ...env } };
}

/** After this time, a program without its prompt is killed, and the bench fails. */
const promptTimeoutMs = 60_000;

async function waitForText(child: ChildProcess, prompt: string, name: string): Promise<void> {
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
async function exit(child: ChildProcess): Promise<void> {
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
