import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { WorkerOrder } from './worker-process.ts';

interface StartedWorker {
  /** When it says this; at once, where it did. */
  told(what: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Ends it, however it is. */
  end(): Promise<void>;
}

const started = new Set<StartedWorker>();

/** Those that a test which failed left behind. */
export async function endWorkers(): Promise<void> {
  await Promise.all([...started].map((worker) => worker.end()));
}

/** A worker in a process of its own, which polls when this resolves. */
export async function startWorker(order: WorkerOrder): Promise<StartedWorker> {
  const program = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
  const args = ['--conditions=@millrace/source', program, JSON.stringify(order)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const heard = hear(child);
  const exit = once(child, 'close');
  const worker: StartedWorker = {
    told: heard,
    kill: (signal) => child.kill(signal),
    end: async () => {
      child.kill('SIGKILL');
      await exit;
      started.delete(worker);
    },
  };
  started.add(worker);
  await Promise.race([heard('ready'), exit.then(() => Promise.reject(new Error('It died')))]);
  return worker;
}

function hear({ stdout }: ChildProcess): (what: string) => Promise<void> {
  const told = new Set<string>();
  const waiting = new Map<string, () => void>();
  if (stdout !== null)
    createInterface({ input: stdout }).on('line', (line) => {
      // Temporal's own lines are no JSON.
      if (!line.startsWith('"')) return;
      const what = JSON.parse(line) as string;
      told.add(what);
      waiting.get(what)?.();
    });
  return (what) =>
    told.has(what) ? Promise.resolve() : new Promise((resolve) => waiting.set(what, resolve));
}
