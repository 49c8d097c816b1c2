import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startStuckThread } from '../../shell/stuck-thread.ts';

// A program whose main thread waits while a child runs. Its first argument is the state of a waiting main thread that the
// other thread looks for. The program waits until the thread has killed the child, at most the number of milliseconds in
// the second argument. It prints whether the thread killed the child, and the signal that ended the child.

const [state = '', waitMs = ''] = process.argv.slice(2);
const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
const isStuck = startStuckThread(state).add(child);
const pause = new Int32Array(new SharedArrayBuffer(4));
for (let waited = 0; waited < Number(waitMs) && !isStuck(); waited += 100)
  Atomics.wait(pause, 0, 0, 100);
if (!isStuck()) child.kill('SIGTERM');
const [, signal] = await once(child, 'exit');
process.stdout.write(`${isStuck()} ${signal}`);
