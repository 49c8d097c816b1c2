import { existsSync, readFileSync } from 'node:fs';

/** Whether a process still does anything. One that has ended and that nobody has asked about does not. */
export function isRunning(pid: number): boolean {
  if (existsSync('/proc/self/stat')) {
    const stat = existsSync(`/proc/${pid}/stat`) ? readStat(pid) : '';
    return stat !== '' && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return '';
  }
}

/** The process ids in a file, one a line. */
export function pidsIn(path: string): readonly number[] {
  const pids = readFileSync(path, 'utf8').trim().split('\n').map(Number);
  if (pids.some((pid) => !Number.isInteger(pid) || pid <= 1)) throw new Error(`No ids: ${pids}`);
  return pids;
}

/** Resolves when something has come true, however long that takes. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}
