import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { WorkerConfig } from './worker-process.ts';

/**
 * Starts a worker in a separate process. When the worker polls, it resolves with a function that kills
 * the process.
 */
export async function startWorker(order: WorkerConfig): Promise<() => Promise<void>> {
  const program = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
  const args = ['--conditions=@millrace/source', program, JSON.stringify(order)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'close');
  const died = exit.then(() => Promise.reject(new Error('The worker died')));
  died.catch(() => {});
  await Promise.race([once(child.stdout, 'data'), died]);
  return async () => {
    child.kill('SIGKILL');
    await exit;
  };
}
