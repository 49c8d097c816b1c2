import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { WorkerConfig } from './worker-process.ts';

interface StartedWorker {
  /** Resolves when the worker has reported this message. The message may already have arrived. */
  waitFor(what: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Kills the process, whatever its state is. */
  end(): Promise<void>;
}

const started = new Set<StartedWorker>();

/** Ends the workers that a failed test did not end. */
export async function endWorkers(): Promise<void> {
  await Promise.all([...started].map((worker) => worker.end()));
}

/** Starts a worker in a separate process. Resolves when the worker polls. */
export async function startWorker(order: WorkerConfig): Promise<StartedWorker> {
  const program = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
  const args = ['--conditions=@millrace/source', program, JSON.stringify(order)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const waitFor = readMessages(child);
  const exit = once(child, 'close');
  const worker: StartedWorker = {
    waitFor: waitFor,
    kill: (signal) => child.kill(signal),
    end: async () => {
      child.kill('SIGKILL');
      await exit;
      started.delete(worker);
    },
  };
  started.add(worker);
  await Promise.race([
    waitFor('ready'),
    exit.then(() => Promise.reject(new Error('The worker process died'))),
  ]);
  return worker;
}

function readMessages({ stdout }: ChildProcess): (what: string) => Promise<void> {
  const received = new Set<string>();
  const waiting = new Map<string, () => void>();
  if (stdout !== null)
    createInterface({ input: stdout }).on('line', (line) => {
      // Temporal's own output lines are not JSON.
      if (!line.startsWith('"')) return;
      const what = JSON.parse(line) as string;
      received.add(what);
      waiting.get(what)?.();
    });
  return (what) =>
    received.has(what) ? Promise.resolve() : new Promise((resolve) => waiting.set(what, resolve));
}
