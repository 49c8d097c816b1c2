import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '@millrace/agent';
import { renameNewRepositories } from '../git/repositories/new-repositories.ts';
import { waitForFirstProcesses } from '../sandbox/private/first-process.ts';
import { forgetNames } from '../sandbox/private/unfinished-commands.ts';
import { checkOpenWatches } from '../sandbox/watch-names.ts';

// Each command starts as the leader of a new process session. Its child processes stay in that session unless
// they leave it with setsid. With `set -m`, a shell creates several process groups in one session.

/**
 * The interval of the check whether processes have ended, in milliseconds. The check is needed because the
 * system notifies only the parent of a process.
 */
const pollMs = 10;
/**
 * Maximum number of checks. Then the remaining processes are ignored, because they belong to a different user
 * or hang in the kernel.
 */
const maxPolls = 500;

/**
 * Waits until all processes of a session have ended, at most `ms` milliseconds. Returns the number of
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
 * Stops a session with SIGTERM, and after a grace period with SIGKILL. Returns the number of processes that
 * still run. If the leader is a sandbox (`isSandbox`), only the processes inside it get SIGTERM, because the
 * end of the sandbox would kill them immediately.
 */
export async function stopSession(
  leader: number,
  { graceMs, clock, isSandbox }: StopOptions,
): Promise<number> {
  if (isSandbox) signalInside(leader, 'SIGTERM');
  else signalGroups(leader, 'SIGTERM');
  let left = await waitForSession(leader, graceMs, clock);
  for (let looks = 0; left > 0 && looks < maxPolls; looks++) {
    // The signal is repeated at each check, because new processes may have started.
    signalGroups(leader, 'SIGKILL');
    await nextPoll();
    left = sessionMembers(leader).length;
  }
  return left;
}

interface StopOptions {
  readonly graceMs: number;
  readonly clock: Clock;
  readonly isSandbox: boolean;
}

/**
 * Sends a signal to the process groups of all descendants of the leader, but not to the leader itself. The
 * first process inside a sandbox does not receive SIGTERM, because the kernel protects it.
 */
function signalInside(leader: number, signal: NodeJS.Signals): void {
  const groups = new Set(descendantsOf(leader).map(({ group }) => group));
  groups.delete(leader);
  for (const group of groups) sendToGroup(group, signal);
}

/** Returns all descendants of a process, also those in other sessions. */
function descendantsOf(leader: number) {
  const all = (processIds() ?? []).flatMap((pid) => {
    const stat = processStat(pid);
    return stat === undefined ? [] : [{ ...stat, pid: Number(pid) }];
  });
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const found: (typeof all)[number][] = [];
  const pending = [leader];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    const children = byParent.get(pid) ?? [];
    found.push(...children);
    pending.push(...children.map((child) => child.pid));
  }
  return found;
}

const running = new Set<number>();
let isListening = false;
let report: (sentence: string) => void = reportOnStderr;

/**
 * Sets the function that receives the sentences of `endCommandsNow` if this process exits while a command runs, or before
 * the sandbox has checked what the command created. It must be synchronous. Default: each sentence is a line on standard
 * error, without control characters. Returns the earlier function.
 *
 * @example
 * reportAtExit((sentence) => writeSync(logFile, `${sentence}\n`));
 */
export function reportAtExit(given: (sentence: string) => void): (sentence: string) => void {
  const earlier = report;
  report = given;
  return earlier;
}

function reportOnStderr(sentence: string): void {
  // A command chose the names of the files.
  process.stderr.write(`${sentence.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')}\n`);
}

function endAtExit(): void {
  for (const sentence of endCommandsNow()) report(sentence);
}

/**
 * Makes sure that a session is killed if this process exits first. Call the returned function when the
 * session has ended.
 */
export function killOnExit(leader: number): () => void {
  // The listener stays, because the sandbox checks what a command created after the end of the command.
  if (!isListening) process.on('exit', endAtExit);
  isListening = true;
  running.add(leader);
  return () => void running.delete(leader);
}

/** Maximum number of checks whether processes have ended or are paused. The time between two checks is 1 ms. */
const maxLooks = 1000;
/** The number of looks in succession that must find all processes paused. */
const minQuiet = 5;

/**
 * Kills all running commands with SIGKILL, waits for their end, and lets the sandbox check a last time which
 * forbidden files they created. It is synchronous. Call it immediately before this process ends with a signal.
 * If this process exits in another way, it runs by itself, and `reportAtExit` gets the sentences. Returns sentences about
 * files that the sandbox renamed.
 *
 * @example
 * process.once('SIGINT', () => {
 *   for (const sentence of endCommandsNow()) console.error(sentence);
 *   process.kill(process.pid, 'SIGINT');
 * });
 */
export function endCommandsNow(): readonly string[] {
  if (running.size > 0) killNow();
  const left = waitForFirstProcesses();
  // The check of a command that has ended may still run.
  const { notes, isRestored } = checkOpenWatches();
  forgetNames(isRestored, left);
  return [...notes, ...renameNewRepositories()];
}

function killNow(): void {
  const started = [...running].flatMap((leader) => [
    leader,
    ...descendantsOf(leader).map(({ pid }) => pid),
  ]);
  for (const leader of running) {
    signalInside(leader, 'SIGKILL');
    signalGroups(leader, 'SIGKILL');
  }
  const isAlive = (pid: number) => processStat(String(pid))?.isAlive === true;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0; looks < maxLooks && started.some(isAlive); looks++)
    Atomics.wait(pause, 0, 0, 1);
}

/**
 * Pauses all running commands with SIGSTOP. It is synchronous. Call it immediately before this process stops with a
 * signal, because a stopped process does not check what its commands create. The returned function continues them.
 *
 * @example
 * const continueCommands = pauseCommandsNow();
 * process.once('SIGCONT', continueCommands);
 * process.kill(process.pid, 'SIGTSTP');
 */
export function pauseCommandsNow(): () => void {
  if (process.platform !== 'linux') {
    const groups = [...running];
    for (const group of groups) sendToGroup(group, 'SIGSTOP');
    return () => {
      for (const group of groups) sendToGroup(group, 'SIGCONT');
    };
  }
  const paused = new Set<number>();
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0, quiet = 0; looks < maxLooks && quiet < minQuiet; looks++) {
    // A process can start another process before it gets the signal, and a look can miss a new process.
    const moving = [...running].flatMap(movingProcesses);
    quiet = moving.length === 0 ? quiet + 1 : 0;
    for (const pid of moving) {
      paused.add(pid);
      sendTo(pid, 'SIGSTOP');
    }
    Atomics.wait(pause, 0, 0, 1);
  }
  return () => {
    for (const pid of paused) sendTo(pid, 'SIGCONT');
  };
}

/** Returns the leader and its descendants that neither ended nor are paused. */
function movingProcesses(leader: number): readonly number[] {
  const own = processStat(String(leader));
  const all = [...(own ? [{ ...own, pid: leader }] : []), ...descendantsOf(leader)];
  return all.filter(({ isAlive, isPaused }) => isAlive && !isPaused).map(({ pid }) => pid);
}

/** Sends a signal to a process, or to the group with the negated id. */
function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process or the group has ended, or it belongs to a different user.
  }
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
  // Without /proc, only the process group of the leader can be checked, and zombies count as running.
  if (pids === undefined) return groupExists(leader) ? [{ group: leader }] : [];
  return pids.flatMap((pid) => {
    const stat = processStat(pid);
    return stat?.session === leader && stat.isAlive ? [stat] : [];
  });
}

function signalGroups(leader: number, signal: NodeJS.Signals): void {
  const groups = new Set(sessionMembers(leader).map((member) => member.group));
  for (const group of groups) sendToGroup(group, signal);
}

function sendToGroup(group: number, signal: NodeJS.Signals): void {
  sendTo(-group, signal);
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

/** Returns the state of a process. Returns undefined if the process has ended in the meantime. */
function processStat(pid: string) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the process is in parentheses and can contain any character. Parsing therefore starts after
    // the last parenthesis.
    const [state = '', parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const numbers = { parent: Number(parent), group: Number(group), session: Number(session) };
    return { isAlive: !'ZX'.includes(state), isPaused: 'Tt'.includes(state), ...numbers };
  } catch {
    return undefined;
  }
}
