import type { ChildProcess } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

// A command can hold the lock of a folder in the kernel for a long time. If this process then renames or lists something in
// the folder, its main thread waits in the kernel and cannot check what the command creates. It cannot stop the command
// either. A thread of its own, which makes no file system call in the workspace, therefore kills such commands.

/** Time between two looks of the thread, and between two beats of the main thread, in milliseconds. */
const tickMs = 250;
/**
 * Number of looks in succession that must find the main thread waiting in the kernel. It counts looks and not time, so a
 * paused process or a busy machine has no effect. A main thread that computes does not wait in the kernel.
 */
const maxStuckTicks = 8;
/** Maximum number of sandboxes that the thread can stop. Further ones run without it. */
const maxSandboxes = 1024;

/** The thread has no file of its own, because bundles would need a further file. */
const program = `
const { readFileSync } = require('node:fs');
const { workerData } = require('node:worker_threads');
const { shared, watched, stuckState, tickMs, maxStuckTicks } = workerData;
const [beats, users, first] = [0, 1, 2];
const pause = new Int32Array(new SharedArrayBuffer(4));
const isStuck = () => {
  const stat = readFileSync(watched, 'latin1');
  return stat[stat.lastIndexOf(')') + 2] === stuckState;
};
for (let last, ticks = 0; ; ) {
  Atomics.wait(shared, users, 0);
  Atomics.wait(pause, 0, 0, tickMs);
  const now = Atomics.load(shared, beats);
  ticks = now === last && isStuck() ? ticks + 1 : 0;
  last = now;
  if (ticks < maxStuckTicks) continue;
  ticks = 0;
  for (let slot = first; slot < shared.length; slot++) {
    const pid = Atomics.load(shared, slot);
    if (pid <= 0 || Atomics.compareExchange(shared, slot, pid, -pid) !== pid) continue;
    try { process.kill(pid, 'SIGKILL'); } catch {}
  }
}
`;

/** Kills sandboxes that keep the main thread waiting in the kernel. */
export interface StuckThread {
  /** Adds a sandbox until it exits. Returns a function that returns true if the thread has killed the sandbox. */
  add(child: ChildProcess): () => boolean;
}

/**
 * Starts the thread. It does not keep the process alive. `stuckState` is the state of a main thread that waits in the
 * kernel, as in `/proc/self/stat`. Default: `D`. Throws if the thread cannot start.
 */
export function startStuckThread(stuckState = 'D'): StuckThread {
  // The first number counts the beats of the main thread, and the second one the sandboxes. The others are the ids of
  // the sandboxes: 0 is free, and the id of a killed sandbox is negative.
  const [beats, users, first] = [0, 1, 2];
  const shared = new Int32Array(new SharedArrayBuffer(4 * (first + maxSandboxes)));
  // This thread is the main thread, unless a program runs the sandbox in a worker.
  const watched = `/proc/${readlinkSync('/proc/thread-self')}/stat`;
  const worker = new Worker(program, {
    ...{ eval: true, env: {}, execArgv: [], stdout: true, stderr: true },
    workerData: { shared, watched, stuckState, tickMs, maxStuckTicks },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
  });
  worker.unref();
  // The commands run without the thread if it cannot start.
  worker.on('error', () => {});
  let beating: NodeJS.Timeout | undefined;
  const beat = () => void Atomics.add(shared, beats, 1);
  return {
    add(child) {
      const slot = shared.indexOf(0, first);
      const { pid } = child;
      if (slot === -1 || pid === undefined) return () => false;
      let wasKilled = false;
      let isOver = false;
      const isKilled = () => (isOver ? wasKilled : Atomics.load(shared, slot) === -pid);
      Atomics.store(shared, slot, pid);
      beat();
      beating ??= setInterval(beat, tickMs).unref();
      Atomics.add(shared, users, 1);
      Atomics.notify(shared, users);
      child.once('exit', () => {
        // Until this process reaps the child, no other process can get its id.
        wasKilled = isKilled();
        isOver = true;
        Atomics.store(shared, slot, 0);
        if (Atomics.sub(shared, users, 1) > 1) return;
        clearInterval(beating);
        beating = undefined;
      });
      return isKilled;
    },
  };
}

let thread: StuckThread | undefined;

/**
 * Stops a sandbox if it keeps this process waiting in the kernel for about 2 s. The first call starts the thread. Returns
 * a function that returns true if the sandbox was stopped for this reason.
 */
export function stopIfStuck(child: ChildProcess): () => boolean {
  // Only Linux shows the state of a thread in /proc.
  if (process.platform !== 'linux') return () => false;
  try {
    thread ??= startStuckThread();
    return thread.add(child);
  } catch {
    // The system or the user (`node --permission`) allows no further thread. The command runs without it.
    return () => false;
  }
}
