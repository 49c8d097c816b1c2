import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ProcessIdentity } from './rows.ts';

/** This process, so that others on the machine can tell when it is gone. */
export function currentProcess(): ProcessIdentity {
  const { pid } = process;
  return {
    host: hostname(),
    boot: bootId(),
    space: pidNamespace(),
    pid,
    started: startTimeOf(pid) ?? '',
  };
}

/** Does it still run? Undefined where that cannot be seen from here. */
export function isProcessAlive(mark: ProcessIdentity): boolean | undefined {
  const { pid, started } = mark;
  if (mark.host !== hostname()) return undefined;
  // A file that is shared at all is on one machine: it was started again since.
  if (mark.boot !== bootId()) return false;
  // In another container, whose processes have other numbers here or none.
  if (mark.space !== pidNamespace()) return undefined;
  if (!processExists(pid)) return false;
  const now = startTimeOf(pid);
  return now === undefined || started === '' || now === started;
}

/** Another one each time the machine starts, as Linux has it. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** Which processes see each other, as Linux has it. */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, but another user's.
    return (error as { readonly code?: string }).code === 'EPERM';
  }
}

/** Since boot, as Linux counts it; undefined elsewhere, or where it is a zombie. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything, so what follows it is counted.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'gone' : fields[19];
  } catch {
    return undefined;
  }
}
