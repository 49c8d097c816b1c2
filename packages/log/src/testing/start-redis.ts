import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { freePort, isRequirementMissing } from './external-programs.ts';

const program: string = 'redis-server';
const missing = 'redis-server is not installed, and these tests need it: npm run test:setup';

/**
 * Returns `describe` for tests that need Redis. If Redis is missing, the tests are skipped with a warning.
 */
export function describeWithRedis(): (name: string, tests: () => void) => void {
  return needsRedis(describe);
}

/**
 * Works like `describeWithRedis`, for tests that also have another requirement. `otherwise` is the
 * `describe` for that requirement.
 */
export function needsRedis(
  otherwise: (name: string, tests: () => void) => void,
): (name: string, tests: () => void) => void {
  const isThere = spawnSync(program, ['--version']).status === 0;
  return isRequirementMissing(isThere, missing) ? describe.skip : otherwise;
}

/** A Redis server for tests. It stores nothing on disk. */
export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** Runs a command as administrator. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  /** Kills the server and waits for its end. */
  crash(): Promise<void>;
  /** Starts the server again, on the same port and without data. */
  start(): Promise<void>;
  /** Stops the server and deletes its folder. */
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
  // Kills the server when the test process ends, even after a failure.
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
