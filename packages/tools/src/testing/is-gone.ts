import { readFileSync } from 'node:fs';

/** Whether a process has ended. One that nobody waits for is still listed, and ended all the same. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return (
      process.platform === 'linux' && /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    );
  } catch {
    return true;
  }
}
