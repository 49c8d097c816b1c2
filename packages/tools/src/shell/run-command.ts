import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync } from 'node:fs';
import type { Clock } from '@millrace/agent';
import { openPipe } from './open-pipe.ts';
import { endWithUs, stopSession, waitForSession } from './process-group.ts';
import { readPipe } from './read-pipe.ts';

export interface CommandOptions {
  readonly shell: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** All that it prints, in order. Returns a promise where it is to be waited for. */
  readonly onOutput: (bytes: Uint8Array) => Promise<void> | undefined;
}

interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How a command ended. */
export interface CommandEnd extends Exit {
  readonly why: 'exited' | 'timed_out' | 'aborted';
  /** Processes that it left running, and that were stopped. */
  readonly leftRunning: number;
  /** Processes that could not be stopped. */
  readonly unstopped: number;
}

/** Runs a command to its end, or to ours. Resolves when all of its processes are gone. */
export async function runCommand(command: string, options: CommandOptions): Promise<CommandEnd> {
  const { reader, writer } = await openPipe();
  const pipe = readPipe(reader, options.onOutput);
  try {
    const child = start(command, writer, options);
    const exited = exitOf(child, options);
    // Without an id it was not started, and `exited` says why.
    const end = child.pid === undefined ? exited : untilGone(child.pid, exited, options);
    const ended = await end;
    await pipe.drain();
    return { why: 'exited', leftRunning: 0, unstopped: 0, ...ended };
  } finally {
    pipe.close();
  }
}

function start(command: string, writer: number, options: CommandOptions): ChildProcess {
  const { shell, cwd, env, signal } = options;
  try {
    signal.throwIfAborted();
    // Detached: it leads a session, and a group, of its own.
    const stdio = { stdio: ['ignore', writer, writer] as ('ignore' | number)[], detached: true };
    return spawn(shell, ['-c', '--', command], { cwd, env, ...stdio });
  } catch (error) {
    // Some of what can go wrong is told at once.
    throw signal.aborted ? error : notStarted(error, options);
  } finally {
    closeSync(writer);
  }
}

function exitOf(child: ChildProcess, options: CommandOptions): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
    child.once('error', (error) => reject(notStarted(error, options)));
  });
}

/** What was started in the background and is done with its work gets so long to end by itself. */
const lingerMs = 250;

async function untilGone(
  leader: number,
  exited: Promise<Exit>,
  options: CommandOptions,
): Promise<CommandEnd> {
  const { clock, graceMs } = options;
  const forget = endWithUs(leader);
  try {
    const why = await untilStop(exited, options);
    const leftRunning = why === 'exited' ? await waitForSession(leader, lingerMs, clock) : 0;
    const isGone = why === 'exited' && leftRunning === 0;
    const unstopped = isGone ? 0 : await stopSession(leader, graceMs, clock);
    // One that cannot be stopped is not waited for.
    const exit = unstopped > 0 ? { exitCode: null, signal: null } : await exited;
    return { ...exit, why, leftRunning, unstopped };
  } finally {
    forget();
  }
}

async function untilStop(
  exited: Promise<Exit>,
  { signal, clock, timeoutMs }: CommandOptions,
): Promise<CommandEnd['why']> {
  const stop = Promise.withResolvers<'timed_out' | 'aborted'>();
  const onAbort = () => stop.resolve('aborted');
  const cancel = clock.after(timeoutMs, () => stop.resolve('timed_out'));
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([exited.then(() => 'exited' as const), stop.promise]);
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

function notStarted(cause: unknown, { shell, cwd }: CommandOptions): Error {
  return new Error(`Cannot start ${shell}: ${whyNotStarted(cause, cwd)}. Nothing was run`, {
    cause,
  });
}

function whyNotStarted(cause: unknown, cwd: string): string {
  if (!existsSync(cwd)) return `the folder ${cwd} does not exist`;
  const message = cause instanceof Error ? cause.message : String(cause);
  const isTooLong = message.includes('E2BIG');
  return isTooLong ? 'the command is too long for the system (E2BIG)' : message;
}
