import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { freePort, isMissing } from './external-programs.ts';

const program: string = 'redis-server';
const missing = 'redis-server is not there, and these tests need one: npm run test:setup';

/** For tests on a real Redis. Where there is none they are skipped, and that is said. */
export function describeWithRedis(): (name: string, tests: () => void) => void {
  return needsRedis(describe);
}

/** For those that need something else besides. */
export function needsRedis(
  otherwise: (name: string, tests: () => void) => void,
): (name: string, tests: () => void) => void {
  const isThere = spawnSync(program, ['--version']).status === 0;
  return isMissing(isThere, missing) ? describe.skip : otherwise;
}

/** A server of one's own, which keeps nothing. */
export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** Asks it something, as an administrator. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  /** Dead without a word; resolves when it is. */
  crash(): Promise<void>;
  /** Again, at the same place and empty. */
  start(): Promise<void>;
  /** For good. */
  stop(): Promise<void>;
}

export async function startRedis(args: readonly string[] = []): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-redis-'));
  const port = await freePort();
  let child = await started(port, folder, args);
  const crash = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    ask: (command, ...args) => ask(port, command, args),
    kill: (signal) => child.kill(signal),
    crash,
    start: async () => {
      child = await started(port, folder, args);
    },
    stop: async () => {
      await crash();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function started(
  port: number,
  folder: string,
  args: readonly string[],
): Promise<ChildProcess> {
  const fixed = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder];
  const empty = ['--save', '', '--appendonly', 'no'];
  const child = spawn(program, [...fixed, ...empty, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // Nobody should have to look for what a test that failed left behind.
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.removeListener('exit', end));
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text;
    if (output.includes('Ready to accept connections')) break;
  }
  if (!output.includes('Ready'))
    throw new Error(`redis-server did not start: ${output.slice(-500)}`);
  return child;
}

async function ask(port: number, command: string, args: readonly string[]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1', { retryStrategy: () => null });
  client.on('error', () => {});
  try {
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}
