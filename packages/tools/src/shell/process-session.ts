import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '@millrace/agent';

// A command is started as the leader of a process session. The processes that it starts stay in
// that session unless they leave it on purpose (setsid). With `set -m`, a shell creates several
// process groups in one session.

/**
 * Interval for checking whether processes have ended. Only the parent of a process is notified of
 * its end.
 */
const pollMs = 10;
/**
 * Number of checks after which remaining processes are given up. They belong to another user or
 * hang in the kernel.
 */
const maxPolls = 500;

/**
 * Waits until all processes of a session have ended or the time is up. Returns the number of
 * remaining processes.
 */
export async function waitForSession(leader: number, ms: number, clock: Clock): Promise<number> {
  let isTimeUp = false;
  const cancel = clock.after(ms, () => {
    isTimeUp = true;
  });
  try {
    for (;;) {
      const { length } = sessionMembers(leader);
      if (length === 0 || isTimeUp) return length;
      await nextPoll();
    }
  } finally {
    cancel();
  }
}

/**
 * Stops a session with SIGTERM, and after a grace time with SIGKILL. Returns the number of
 * processes that still run.
 */
export async function stopSession(leader: number, graceMs: number, clock: Clock): Promise<number> {
  signalGroups(leader, 'SIGTERM');
  let left = await waitForSession(leader, graceMs, clock);
  for (let looks = 0; left > 0 && looks < maxPolls; looks++) {
    // Repeated at each check, because new processes may have started.
    signalGroups(leader, 'SIGKILL');
    await nextPoll();
    left = sessionMembers(leader).length;
  }
  return left;
}

const running = new Set<number>();

/**
 * Kills a session if this process exits first. Call the returned function when the session has
 * ended.
 */
export function killOnExit(leader: number): () => void {
  if (running.size === 0) process.on('exit', killAll);
  running.add(leader);
  return () => {
    running.delete(leader);
    if (running.size === 0) process.off('exit', killAll);
  };
}

/** SIGKILL, because this process cannot wait for a second attempt. */
function killAll(): void {
  for (const leader of running) signalGroups(leader, 'SIGKILL');
}

function nextPoll(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pollMs));
}

interface Member {
  readonly group: number;
}

/** Returns the running processes of a session. */
function sessionMembers(leader: number): readonly Member[] {
  const pids = processIds();
  // Without /proc, only the group of the leader can be checked, and zombies count as running.
  if (pids === undefined) return groupExists(leader) ? [{ group: leader }] : [];
  return pids.flatMap((pid) => {
    const stat = processStat(pid);
    return stat?.session === leader && stat.isAlive ? [stat] : [];
  });
}

function signalGroups(leader: number, signal: NodeJS.Signals): void {
  for (const group of new Set(sessionMembers(leader).map((member) => member.group))) {
    try {
      process.kill(-group, signal);
    } catch {
      // The group has ended or belongs to another user.
    }
  }
}

function groupExists(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function processIds(): readonly string[] | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
}

/** Returns undefined if the process has ended meanwhile. */
function processStat(pid: string) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process name in parentheses can contain any character, so parsing starts after the last
    // one.
    const [state = '', , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { isAlive: !'ZX'.includes(state), group: Number(group), session: Number(session) };
  } catch {
    return undefined;
  }
}
