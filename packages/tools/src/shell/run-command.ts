import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '@millrace/agent';
import { killOnExit, stopSession, waitForSession } from './process-session.ts';

interface CommandOptions {
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
export interface CommandOutcome extends Exit {
  readonly reason: 'exited' | 'timed_out' | 'aborted';
  /** Processes that it left running, and that were stopped. */
  readonly leftRunning: number;
  /** Processes that could not be stopped. */
  readonly unstopped: number;
}

/** Runs a command to its end, or to ours. Resolves when all of its processes are gone. */
export async function runCommand(
  command: string,
  options: CommandOptions,
): Promise<CommandOutcome> {
  const { reader, writer } = await openPipe();
  const pipe = readPipe(reader, options.onOutput);
  try {
    const child = startShell(command, writer, options);
    const exited = exitOf(child, options);
    // Without an id it was not started, and `exited` says why.
    const end = child.pid === undefined ? exited : waitUntilGone(child.pid, exited, options);
    const ended = await end;
    await pipe.drain();
    return { reason: 'exited', leftRunning: 0, unstopped: 0, ...ended };
  } finally {
    pipe.close();
  }
}

function startShell(command: string, writer: number, options: CommandOptions): ChildProcess {
  const { shell, cwd, env, signal } = options;
  try {
    signal.throwIfAborted();
    // Detached: it leads a session, and a group, of its own.
    const stdio = { stdio: ['ignore', writer, writer] as ('ignore' | number)[], detached: true };
    return spawn(shell, ['-c', '--', command], { cwd, env, ...stdio });
  } catch (error) {
    // Some of what can go wrong is told at once.
    throw signal.aborted ? error : startError(error, options);
  } finally {
    closeSync(writer);
  }
}

function exitOf(child: ChildProcess, options: CommandOptions): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
    child.once('error', (error) => reject(startError(error, options)));
  });
}

/** What was started in the background and is done with its work gets so long to end by itself. */
const lingerMs = 250;

async function waitUntilGone(
  leader: number,
  exited: Promise<Exit>,
  options: CommandOptions,
): Promise<CommandOutcome> {
  const { clock, graceMs } = options;
  const stopWatching = killOnExit(leader);
  try {
    const reason = await waitForExitOrStop(exited, options);
    const leftRunning = reason === 'exited' ? await waitForSession(leader, lingerMs, clock) : 0;
    const isGone = reason === 'exited' && leftRunning === 0;
    const unstopped = isGone ? 0 : await stopSession(leader, graceMs, clock);
    // One that cannot be stopped is not waited for.
    const exit = unstopped > 0 ? { exitCode: null, signal: null } : await exited;
    return { ...exit, reason, leftRunning, unstopped };
  } finally {
    stopWatching();
  }
}

async function waitForExitOrStop(
  exited: Promise<Exit>,
  { signal, clock, timeoutMs }: CommandOptions,
): Promise<CommandOutcome['reason']> {
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

function startError(cause: unknown, { shell, cwd }: CommandOptions): Error {
  return new Error(`Cannot start ${shell}: ${startErrorReason(cause, cwd)}. Nothing was run`, {
    cause,
  });
}

function startErrorReason(cause: unknown, cwd: string): string {
  if (!existsSync(cwd)) return `the folder ${cwd} does not exist`;
  const message = cause instanceof Error ? cause.message : String(cause);
  const isTooLong = message.includes('E2BIG');
  return isTooLong ? 'the command is too long for the system (E2BIG)' : message;
}

interface PipeEnds {
  /** A file descriptor, which does not block. Whoever takes it closes it. */
  readonly reader: number;
  /** For the child, as its stdout and its stderr, so that what it says comes in the order it was said. */
  readonly writer: number;
}

/**
 * A pipe. The ones that Node makes for a child are sockets: those cannot be opened by name, and every
 * script with `> /dev/stderr` in it fails on them.
 */
async function openPipe(): Promise<PipeEnds> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'));
  const path = join(folder, 'pipe');
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', path]);
    // The reader first: without one, to open the other end would wait for it.
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { reader, writer: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    throw pipeError(error);
  } finally {
    // It goes on without a name.
    await rm(folder, { recursive: true, force: true });
  }
}

function pipeError(cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot run a command: no pipe for its output can be made: ${reason}`, {
    cause,
  });
}

interface PipeReader {
  /**
   * Resolves when all that was written so far is read. The end of the pipe may never come: a process
   * that outlives the command may hold it.
   */
  drain(): Promise<void>;
  close(): void;
}

/** What a pipe holds at most. What comes beyond was written after. */
const maxPipeBytes = 1_048_576;
/** Rounds of the event loop, each of which reads whatever there is, without a byte. */
const quietRounds = 3;

/** Reads a pipe as fast as what is read can be taken, and no faster. */
function readPipe(
  fd: number,
  consume: (bytes: Uint8Array) => Promise<void> | undefined,
): PipeReader {
  const socket = new Socket({ fd, readable: true, writable: false });
  let consuming: Promise<void> | undefined;
  let bytesRead = 0;
  let isOver = false;
  const wait = async (consumed: Promise<void>) => {
    socket.pause();
    await consumed;
    consuming = undefined;
    socket.resume();
  };
  socket.on('data', (bytes: Uint8Array) => {
    bytesRead += bytes.length;
    const taken = consume(bytes);
    if (taken !== undefined) consuming = wait(taken);
  });
  const end = () => {
    isOver = true;
  };
  socket.once('end', end).once('close', end).once('error', end);
  return {
    async drain() {
      const start = bytesRead;
      for (let quiet = 0; quiet < quietRounds; ) {
        const before = bytesRead;
        await consuming;
        await new Promise((resolve) => setImmediate(resolve));
        quiet = bytesRead === before && consuming === undefined ? quiet + 1 : 0;
        if (consuming === undefined && (isOver || bytesRead - start > maxPipeBytes)) return;
      }
    },
    close: () => socket.destroy(),
  };
}
