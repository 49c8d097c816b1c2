import type { ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '@millrace/agent';
import type { PreparedCommand } from '../contract/sandbox.ts';
import { findProgram } from '../git/run-git.ts';
import { openPipe, readPipe } from './output-pipe.ts';
import { killOnExit, stopSession, waitForSession } from './process-session.ts';
import { type StartedProgram, startPrepared } from './start-prepared.ts';

interface CommandOptions {
  /** The path of the shell. */
  readonly shell: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Time limit in milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Time between SIGTERM and SIGKILL, in milliseconds. */
  readonly graceMs: number;
  /** Called with the output, in order. A returned promise delays the next read. */
  readonly onOutput: (bytes: Uint8Array) => Promise<void> | undefined;
  /** Called when the program has started. Default: none. */
  readonly onStart?: (() => void) | undefined;
  /** The confined command to start instead of the shell. Default: none. */
  readonly confined?: PreparedCommand | undefined;
}

interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Describes how a command ended. */
export interface CommandOutcome extends Exit {
  /**
   * The reason why the command ended. `blocked` means that it created a forbidden file, and `stuck` that it kept this
   * process from checking what it created.
   */
  readonly reason: 'exited' | 'timed_out' | 'aborted' | 'blocked' | 'stuck';
  /** Number of background processes that still ran after the command and were stopped. */
  readonly leftRunning: number;
  /** Number of processes that could not be stopped. */
  readonly unstopped: number;
}

/**
 * Runs a command until it exits, times out or is aborted. Resolves when all of its processes have
 * ended.
 */
export async function runCommand(
  command: string,
  options: CommandOptions,
): Promise<CommandOutcome> {
  const { reader, writer } = await openPipe(options.cwd);
  const pipe = readPipe(reader, options.onOutput);
  try {
    const { child, admitted, isStuck } = startShell(command, writer, options);
    const exited = exitOf(child, options);
    // Without a process id, the command did not start, and `exited` rejects with the reason.
    const start = { leader: child.pid ?? 0, exited, outputEnded: pipe.ended };
    const end = child.pid === undefined ? exited : waitUntilGone(start, options);
    if (child.pid !== undefined) admitted.then(options.onStart, () => {});
    const ended = await end;
    await pipe.drain();
    // A program that cannot be stopped may never be admitted.
    if (!('unstopped' in ended) || ended.unstopped === 0) await admitted;
    const reason = isStuck() ? ({ reason: 'stuck' } as const) : {};
    return { reason: 'exited', leftRunning: 0, unstopped: 0, ...ended, ...reason };
  } finally {
    pipe.close();
  }
}

function startShell(command: string, writer: number, options: CommandOptions): StartedProgram {
  const { signal, confined } = options;
  const [shell, ...args] = shellCommand(command, options);
  const { program = shell, fds = [], env = options.env, cwd = options.cwd } = confined ?? {};
  let nothing: number | undefined;
  try {
    signal.throwIfAborted();
    const descriptors = inheritedFds();
    if (descriptors.length > 0) nothing = openSync('/dev/null', 'r');
    // `detached` makes the child the leader of its own session and process group.
    return startPrepared(
      { program, args: confined?.args ?? args, fds, check: confined?.check },
      {
        ...{ cwd, env, stdio: ['ignore', writer, writer], detached: true },
        replaced: nothing === undefined ? undefined : { descriptors, by: nothing },
      },
    );
  } catch (error) {
    // `spawn` throws some errors synchronously, so this block catches them.
    throw signal.aborted ? error : startError(error, options);
  } finally {
    closeSync(writer);
    if (nothing !== undefined) closeSync(nothing);
  }
}

/**
 * The highest inherited descriptor that is hidden from commands. Descriptors with a higher number are not
 * hidden.
 */
const maxFd = 65_536;
const closeOnExec = 0o2000000;

/**
 * Returns the descriptors that this process inherited and that every child would inherit, in ascending order.
 * Node.js opens all other descriptors with close-on-exec. Only Linux needs this function, because on macOS a
 * child gets only the descriptors that are passed to it.
 */
function inheritedFds(): readonly number[] {
  if (process.platform !== 'linux') return [];
  try {
    const fds = readdirSync('/proc/self/fd').map(Number);
    return fds.filter((fd) => fd > 2 && fd <= maxFd && isInherited(fd)).sort((a, b) => a - b);
  } catch {
    return [];
  }
}

function isInherited(fd: number): boolean {
  try {
    const [, flags = ''] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // The descriptor was closed in the meantime.
    return false;
  }
}

/** Returns the program and the arguments that run a command line. */
export function shellCommand(
  command: string,
  { shell }: Pick<CommandOptions, 'shell'>,
): readonly [string, ...string[]] {
  // The last word becomes `$0`, which the shell prints at the start of its messages.
  return [shell, '-c', '--', command, basename(shell)];
}

const systemFolders = ['/usr/bin', '/bin'];

/**
 * Returns the absolute path of a shell. On Linux, the system folders come first, because commands without an
 * approval see no other folders. Programs in the workspace are not used.
 */
export async function findShell(
  shell: string,
  root: string,
  searchPath: string | undefined,
): Promise<string> {
  if (shell.includes('/')) return shell;
  // A workspace that contains these folders is the whole disk or the system itself.
  const ofSystem = systemFolders.map((at) => join(at, shell)).find((path) => existsSync(path));
  if (ofSystem !== undefined && process.platform === 'linux') return ofSystem;
  const found = (await findProgram(shell, root, searchPath)) ?? ofSystem;
  if (found !== undefined) return found;
  const reason = 'there is no such program on PATH outside of the workspace (ENOENT)';
  throw new Error(`Cannot start ${shell}: ${reason}. Nothing was run`);
}

function exitOf(child: ChildProcess, options: CommandOptions): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
    child.once('error', (error) => reject(startError(error, options)));
  });
}

/** The time for which background processes may continue after the command has exited, in milliseconds. */
const lingerMs = 250;

interface StartedCommand {
  readonly leader: number;
  readonly exited: Promise<Exit>;
  /** Resolves when all processes have closed the output. */
  readonly outputEnded: Promise<void>;
}

async function waitUntilGone(
  { leader, exited, outputEnded }: StartedCommand,
  options: CommandOptions,
): Promise<CommandOutcome> {
  const { clock, graceMs, confined } = options;
  const isSandbox = confined?.endsTogether === true;
  const stopWatching = killOnExit(leader);
  try {
    const reason = await waitForExitOrStop(exited, options);
    const isWaiting = reason === 'exited' && !isSandbox;
    const leftRunning = isWaiting ? await waitForSession(leader, lingerMs, clock) : 0;
    const isGone = reason === 'exited' && leftRunning === 0;
    const stop = { graceMs: reason === 'blocked' ? 0 : graceMs, clock, isSandbox };
    const left = isGone ? 0 : await stopSession(leader, stop);
    const unstopped =
      isSandbox && !(await endsInTime(outputEnded, clock)) ? Math.max(left, 1) : left;
    // A process that cannot be stopped may never exit, so its end is not awaited.
    const exit = unstopped > 0 ? { exitCode: null, signal: null } : await exited;
    return { ...exit, reason, leftRunning, unstopped };
  } finally {
    stopWatching();
  }
}

/** Maximum time for the kernel to kill all processes of a sandbox, in milliseconds. */
const sandboxEndMs = 5000;

/**
 * Resolves with true if the output of a sandbox ends in time. The kernel kills all processes when the first
 * process of the sandbox ends. `PreparedCommand.finish` waits for those that have closed the output before.
 */
async function endsInTime(ended: Promise<void>, clock: Clock): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancel = clock.after(sandboxEndMs, () => late.resolve(false));
  const inTime = await Promise.race([ended.then(() => true), late.promise]);
  cancel();
  return inTime;
}

async function waitForExitOrStop(
  exited: Promise<Exit>,
  { signal, clock, timeoutMs, confined }: CommandOptions,
): Promise<CommandOutcome['reason']> {
  const stop = Promise.withResolvers<'timed_out' | 'aborted' | 'blocked'>();
  const onAbort = () => stop.resolve('aborted');
  const onBlocked = () => stop.resolve('blocked');
  confined?.blocked.addEventListener('abort', onBlocked);
  if (confined?.blocked.aborted === true) onBlocked();
  const cancel =
    timeoutMs === undefined ? () => {} : clock.after(timeoutMs, () => stop.resolve('timed_out'));
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([exited.then(() => 'exited' as const), stop.promise]);
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
    confined?.blocked.removeEventListener('abort', onBlocked);
  }
}

function startError(cause: unknown, { shell, cwd, confined }: CommandOptions): Error {
  const program = confined?.program ?? basename(shell);
  return new Error(`Cannot start ${program}: ${startErrorReason(cause, cwd)}. Nothing was run`, {
    cause,
  });
}

function startErrorReason(cause: unknown, cwd: string): string {
  if (!existsSync(cwd)) return `the folder ${cwd} does not exist`;
  const message = cause instanceof Error ? cause.message : String(cause);
  const isTooLong = message.includes('E2BIG');
  return isTooLong ? 'the command is too long for the system (E2BIG)' : message;
}
