import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** True if a process is running. A zombie is not running. */
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

/** Reads process ids from a file, one per line. */
export function pidsIn(path: string): readonly number[] {
  const pids = readFileSync(path, 'utf8').trim().split('\n').map(Number);
  if (pids.some((pid) => !Number.isInteger(pid) || pid <= 1)) throw new Error(`No ids: ${pids}`);
  return pids;
}

/** Waits until a condition is true, without a time limit. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Returns the processes whose working folder is this folder. Needs /proc. */
export function processesIn(folder: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isAt(name, folder))
    .map(Number);
}

function isAt(pid: string, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder;
  } catch {
    // The process has ended or belongs to a different user.
    return false;
  }
}

/** True if a process has ended. A zombie counts as ended. */
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
