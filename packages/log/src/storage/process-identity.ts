import { hash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { LeaseClock } from '../engine/lease-clock.ts';
import type { ProcessIdentity } from './rows.ts';

/** Identifies this process, so that other processes on the machine can detect its end. */
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

/** Whether the process still runs. Returns `undefined` if this process cannot find out. */
export function isProcessAlive(mark: ProcessIdentity): boolean | undefined {
  const { pid, started } = mark;
  const boot = bootId();
  // Processes that share the file run on one machine. Another boot id means that it was restarted.
  // Containers of one machine have different host names and the same boot id.
  if (mark.boot !== '' && boot !== '' && mark.boot !== boot) return false;
  if (mark.host !== hostname()) return undefined;
  if (mark.boot !== boot) return false;
  // The process runs in another container, with other process numbers.
  if (mark.space !== pidNamespace()) return undefined;
  if (!processExists(pid)) return false;
  const now = startTimeOf(pid);
  return now === undefined || started === '' || now === started;
}

/**
 * The clock that all processes of this machine share from its start to its next start. Setting the
 * time of day does not change it. Other runtimes than Node count from the start of the process, so
 * each of their processes has a clock of its own.
 */
export function machineClock(): LeaseClock {
  const isShared = !('bun' in process.versions || 'deno' in process.versions);
  // Each append stores it, so it is short.
  const boot = isShared ? `${bootId()} ${timeNamespace()}` : randomUUID();
  const id = hash('sha256', boot).slice(0, 12);
  // Both count the same clock. `performance` is faster, and starts with the process.
  const [seconds, nanoseconds] = process.hrtime();
  const startMs = seconds * 1000 + nanoseconds / 1e6 - performance.now();
  return { id, now: () => startMs + performance.now() };
}

/** The time namespace of Linux. A container may have a clock with another start. */
function timeNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/time').replaceAll(/\D/g, '');
  } catch {
    return '';
  }
}

/** The boot id of Linux. It changes with every start of the machine. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** The PID namespace of Linux. Only processes of one namespace see each other. */
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
    // EPERM means that the process exists and belongs to another user.
    return (error as { readonly code?: string }).code === 'EPERM';
  }
}

/** The start time of a process since boot, as Linux counts it. `undefined` on other systems. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program name in parentheses may contain spaces, so count the fields after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'gone' : fields[19];
  } catch {
    return undefined;
  }
}
