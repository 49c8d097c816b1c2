import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '@millrace/agent';

// A command is started as the leader of a session, and what it starts stays in that session unless it
// leaves on purpose (setsid). With `set -m` a shell makes several groups of one session.

/** How often it is looked whether they are gone. Their end is told to nobody but their parent. */
const pollMs = 10;
/** Looks after which those that even SIGKILL does not end are left: another user's, or stuck in the kernel. */
const maxPolls = 500;

/** Waits until all of a session is gone, or the time is up. Says how many are left. */
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

/** Ends a session: politely, and after a grace time by force. Says how many would not go even then. */
export async function stopSession(leader: number, graceMs: number, clock: Clock): Promise<number> {
  signalGroups(leader, 'SIGTERM');
  let left = await waitForSession(leader, graceMs, clock);
  for (let looks = 0; left > 0 && looks < maxPolls; looks++) {
    // Again at each look: some may have been started meanwhile.
    signalGroups(leader, 'SIGKILL');
    await nextPoll();
    left = sessionMembers(leader).length;
  }
  return left;
}

const running = new Set<number>();

/** Takes a session along where this process leaves before it. Call what is returned when it is gone. */
export function killOnExit(leader: number): () => void {
  if (running.size === 0) process.on('exit', killAll);
  running.add(leader);
  return () => {
    running.delete(leader);
    if (running.size === 0) process.off('exit', killAll);
  };
}

/** By force: nobody is left to ask a second time. */
function killAll(): void {
  for (const leader of running) signalGroups(leader, 'SIGKILL');
}

function nextPoll(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pollMs));
}

interface Member {
  readonly group: number;
}

/** The processes of a session that still run. */
function sessionMembers(leader: number): readonly Member[] {
  const pids = processIds();
  // Without /proc only the leader's own group can be asked for, and zombies count.
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
      // It is gone already, or another user's.
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

/** Nothing for one that is gone since it was named. */
function processStat(pid: string) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may have anything in it.
    const [state = '', , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { isAlive: !'ZX'.includes(state), group: Number(group), session: Number(session) };
  } catch {
    return undefined;
  }
}
