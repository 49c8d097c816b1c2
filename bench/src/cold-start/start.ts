import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Program } from './program.ts';

/** Where a program is at home, and works. It is kept from one start to the next, as a person's is. */
export function makeHome(folder: string, { files = {} }: Program): string {
  mkdirSync(join(folder, 'work'), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Milliseconds from the start to the end of one that only says its version. */
export async function msToVersion({ argv }: Program, home: string): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [...argv], { ...placeOf(home, {}), stdio: 'ignore' });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}`);
  return performance.now() - start;
}

const size = 'stty cols 100 rows 30';

/** Milliseconds from the start to the prompt, in a terminal. */
export async function msToPrompt(
  { name, argv, prompt, env = {} }: Program,
  home: string,
): Promise<number> {
  const command = [process.execPath, ...argv].map((word) => `'${word}'`).join(' ');
  const start = performance.now();
  // A terminal without a module that has to be built: `script` has one, and needs no file.
  const child = spawn('script', ['-qec', `${size}; exec ${command}`, '/dev/null'], {
    ...placeOf(home, env),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    await seen(child, prompt, name);
    return performance.now() - start;
  } finally {
    await leave(child);
  }
}

function placeOf(home: string, env: Readonly<Record<string, string>>) {
  const terminal = { TERM: 'xterm-256color', COLORTERM: 'truecolor' };
  const own = { HOME: home, PATH: process.env['PATH'], SHELL: '/bin/sh' };
  return { cwd: join(home, 'work'), env: { ...own, ...terminal, ...env } };
}

async function seen({ stdout }: ChildProcess, prompt: string, name: string): Promise<void> {
  let screen = '';
  for await (const chunk of stdout?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ??
    []) {
    screen += chunk;
    if (screen.includes(prompt)) return;
  }
  throw new Error(`${name} ended before its prompt; it said ${JSON.stringify(screen.slice(-500))}`);
}

const patienceMs = 3000;

/** Ctrl-D, as often as it takes; one that does not go is made to. */
async function leave(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = once(child, 'close');
  child.stdout?.resume();
  child.stdin?.on('error', () => {});
  const asking = setInterval(() => child.stdin?.write('\u0004'), 200);
  const losing = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await closed;
  clearInterval(asking);
  clearTimeout(losing);
}
