import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

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

/** The processes that work in a folder. For systems that have /proc. */
export function processesIn(folder: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isAt(name, folder))
    .map(Number);
}

function isAt(pid: string, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder;
  } catch {
    // It is gone, or somebody else's.
    return false;
  }
}

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
