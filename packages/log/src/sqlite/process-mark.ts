import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ProcessMark } from '../shelf/rows.ts';

/** This process, so that others on the machine can tell when it is gone. */
export function thisProcess(): ProcessMark {
  return { host: hostname(), pid: process.pid, started: startOf(process.pid) ?? '' };
}

/** Does it still run? Undefined where it is on another machine. */
export function isAlive({ host, pid, started }: ProcessMark): boolean | undefined {
  if (host !== hostname()) return undefined;
  if (!exists(pid)) return false;
  const now = startOf(pid);
  return now === undefined || started === '' || now === started;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, but another user's.
    return (error as { readonly code?: string }).code === 'EPERM';
  }
}

/** Since boot, as Linux counts it; undefined elsewhere, or where it is a zombie. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything, so what follows it is counted.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'gone' : fields[19];
  } catch {
    return undefined;
  }
}
