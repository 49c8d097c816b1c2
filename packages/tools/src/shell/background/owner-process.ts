import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Returns a text that identifies this process. Other processes of the machine can find out with it whether
 * this process still runs.
 */
export function ownerMark(): string {
  const { pid } = process;
  return JSON.stringify([place(), pid, startOf(pid)]);
}

/**
 * Returns true if the process with this mark has ended. Returns false if it runs, or if this process cannot
 * find out, for example because it ran on a different machine.
 */
export function hasEnded(mark: string): boolean {
  const [where, pid, started] = parse(mark);
  if (where !== place() || !Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM means that the process exists but belongs to a different user.
    if ((error as { readonly code?: string }).code !== 'EPERM') return true;
  }
  return startOf(pid) !== started;
}

/** A mark comes from the log, so its form is unknown. */
function parse(mark: string): readonly [string, number, string] {
  try {
    const [where, pid, started] = JSON.parse(mark) as readonly unknown[];
    return [String(where), Number(pid), String(started)];
  } catch {
    return ['', 0, ''];
  }
}

/** Identifies the machine and the namespace of its process ids. Both differ between containers. */
function place(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/**
 * Returns the start of a process: the boot of the machine, and the clock ticks since then. It is empty on
 * systems without /proc, where a new process can have the id of an old one.
 */
function startOf(pid: number): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the process is in parentheses and can contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : `${boot} ${fields[19]}`;
  } catch {
    return '';
  }
}
