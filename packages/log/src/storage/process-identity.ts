import { hash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { LeaseClock } from '../engine/lease-clock.ts';
import type { ProcessIdentity } from './rows.ts';

/**
 * Returns the identity of this process. With this identity, other processes on the machine can detect the end
 * of the process.
 */
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

/** Returns whether the process still runs. Returns `undefined` if this process cannot find out. */
export function isProcessAlive(mark: ProcessIdentity): boolean | undefined {
  const { pid, started } = mark;
  const boot = bootId();
  // All processes that share the file run on the same machine. A different boot id therefore means that the
  // machine was restarted. Containers on one machine have different host names, but the same boot id.
  if (mark.boot !== '' && boot !== '' && mark.boot !== boot) return false;
  if (mark.host !== hostname()) return undefined;
  if (mark.boot !== boot) return false;
  // The process runs in a different container, where the same process id belongs to a different process.
  if (mark.space !== pidNamespace()) return undefined;
  if (!processExists(pid)) return false;
  const now = startTimeOf(pid);
  return now === undefined || started === '' || now === started;
}

/**
 * Returns a clock that all processes of this machine share until the next boot. Setting the time of day does
 * not change it. In runtimes other than Node, the clock starts with the process, so each process has its own
 * clock.
 */
export function machineClock(): LeaseClock {
  const isShared = !('bun' in process.versions || 'deno' in process.versions);
  // The id is short, because each append stores it.
  const boot = isShared ? `${bootId()} ${timeNamespace()}` : randomUUID();
  const id = hash('sha256', boot).slice(0, 12);
  // Both functions use the same clock. `performance.now()` is faster, but it counts from the start of the
  // process.
  const [seconds, nanoseconds] = process.hrtime();
  const startMs = seconds * 1000 + nanoseconds / 1e6 - performance.now();
  return { id, now: () => startMs + performance.now() };
}

/**
 * Returns the time namespace of Linux. In a container with its own time namespace, the clock may start at a
 * different moment.
 */
function timeNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/time').replaceAll(/\D/g, '');
  } catch {
    return '';
  }
}

/** Returns the boot id of Linux. It changes with every start of the machine. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** Returns the PID namespace of Linux. Only processes of the same namespace see each other. */
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
    // EPERM means that the process exists but belongs to a different user.
    return (error as { readonly code?: string }).code === 'EPERM';
  }
}

/**
 * Returns the start time of a process, as Linux reports it: clock ticks since boot. Returns `undefined` on
 * other systems.
 */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program name in parentheses may contain spaces, so the fields are counted after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'gone' : fields[19];
  } catch {
    return undefined;
  }
}
