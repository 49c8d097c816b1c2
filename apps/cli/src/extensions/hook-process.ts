import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Clock } from '@millrace/agent';
import { type PreparedCommand, type StartedProgram, startPrepared } from '@millrace/tools';

interface HookProcessOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The JSON text for standard input. */
  readonly input: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Prepares the sandbox for a command line. Default: the program runs without a sandbox. */
  readonly confine?: ((command: readonly string[]) => Promise<PreparedCommand>) | undefined;
}

/** The result of the program of a hook. */
export interface HookResult {
  /** Undefined if the program did not start, was stopped, or died of a signal. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** True if a part of standard output was dropped, because it was too long. */
  readonly isCut?: boolean | undefined;
  /** The reason why there is no exit code. */
  readonly problem?: string | undefined;
  /**
   * True if the program could not start, was stopped, reached its time limit, or was ended by a signal. The agent
   * can cause this: a program that reads a FIFO of the agent never ends. A guard that ended this way must not let a
   * call pass.
   */
  readonly isPrevented?: boolean | undefined;
  /** Sentences about changes that the sandbox undid. */
  readonly notes?: readonly string[] | undefined;
}

/** Maximum number of bytes of each output that are kept. The rest is read and dropped. */
const maxOutputBytes = 1024 * 1024;
/**
 * The time for which output is read after the program has exited, because its children may hold the
 * pipe.
 */
const drainMs = 250;
/** How long to wait until the programs of a stopped hook have ended. */
const killedMs = 5000;

/**
 * Runs the command line of a hook. Resolves when the program has exited. At the time limit, or if
 * the signal aborts, the program and its children are killed. Never throws.
 */
export async function runHookProcess(
  command: string,
  options: HookProcessOptions,
): Promise<HookResult> {
  const { confine, signal } = options;
  if (confine === undefined) {
    const [program = '', ...args] = shellLine(command);
    return runProcess({ program, args, fds: [] }, options);
  }
  let prepared: PreparedCommand;
  try {
    prepared = await confine(shellLine(command));
  } catch (error) {
    return { ...nothing, problem: (error as Error).message, isPrevented: true };
  }
  try {
    const { env, cwd = options.cwd, blocked } = prepared;
    const isExposed = () => prepared.isExposed?.() === true;
    const result = await runProcess(prepared, {
      ...{ ...options, env, cwd, isExposed },
      signal: AbortSignal.any([signal, blocked]),
    });
    const isPrevented = result.isPrevented || blocked.aborted || isSandboxFailure(result);
    return { ...result, isPrevented, notes: await prepared.finish() };
  } catch (error) {
    await prepared.finish().catch(() => {});
    return { ...nothing, problem: (error as Error).message, isPrevented: true };
  }
}

/** True if bubblewrap could not start the program. */
function isSandboxFailure({ exitCode, stderr }: HookResult): boolean {
  return exitCode !== 0 && stderr.startsWith('bwrap: ');
}

/** A shell adds the number of the signal to this exit code if a signal ended its last program. */
const shellSignalCode = 128;

const nothing = { exitCode: undefined, stdout: '', stderr: '' } as const;

interface ProcessOptions extends HookProcessOptions {
  /** True if the program can read a hidden file now. Its output is then dropped. Default: false. */
  readonly isExposed?: (() => boolean) | undefined;
}

type Program = Pick<PreparedCommand, 'program' | 'args' | 'fds' | 'check'>;

async function runProcess(program: Program, options: ProcessOptions): Promise<HookResult> {
  const { input, timeoutMs, signal, clock } = options;
  if (signal.aborted) return { ...nothing, problem: 'it was stopped', isPrevented: true };
  const ended = Promise.withResolvers<Omit<HookResult, 'stdout' | 'stderr'>>();
  let started: StartedProgram;
  try {
    started = start(program, options);
  } catch (error) {
    return { ...nothing, problem: `it did not start (${codeOf(error)})`, isPrevented: true };
  }
  const { child, admitted } = started;
  let refusal: string | undefined;
  admitted.catch((error: Error) => (refusal = error.message));
  const { isExposed = () => false } = options;
  const [stdout, stderr] = [collect(child.stdout, isExposed), collect(child.stderr, isExposed)];
  let stopped: string | undefined;
  let cancelDrain = () => {};
  const end = (problem: string) => {
    stopped ??= problem;
    killGroup(child);
    // The sandbox checks the files when all its programs have ended, so the result waits for them.
    cancelDrain();
    cancelDrain = clock.after(killedMs, () => ended.resolve(byExit(null, null)));
  };
  const onAbort = () => end('it was stopped');
  signal.addEventListener('abort', onAbort, { once: true });
  const seconds = Math.round(timeoutMs / 1000);
  const cancel = clock.after(timeoutMs, () => end(`it took longer than ${seconds} s`));
  child.once('error', (error) => {
    const problem = `it did not start (${codeOf(error)})`;
    ended.resolve({ exitCode: undefined, problem, isPrevented: true });
  });
  const byExit = (code: number | null, killer: NodeJS.Signals | null) =>
    code === null || stopped !== undefined
      ? {
          exitCode: undefined,
          problem: stopped ?? `it died of ${killer ?? 'a signal'}`,
          isPrevented: true,
        }
      : { exitCode: code, isPrevented: code > shellSignalCode };
  child.once('exit', (code, killer) => {
    if (stopped !== undefined) return;
    cancelDrain();
    cancelDrain = clock.after(drainMs, () => ended.resolve(byExit(code, killer)));
  });
  child.once('close', (code, killer) => ended.resolve(byExit(code, killer)));
  // A program that does not read its input closes the pipe, which is not an error.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  const outcome = await ended.promise;
  cancel();
  cancelDrain();
  signal.removeEventListener('abort', onAbort);
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
  const { text, isCut } = stdout();
  const refused = refusal === undefined ? {} : { problem: refusal, isPrevented: true };
  return { ...outcome, ...refused, stdout: text, isCut, stderr: stderr().text };
}

function shellLine(command: string): readonly string[] {
  if (process.platform === 'win32') return [command];
  return [existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh', '-c', command];
}

function start(program: Program, { cwd, env }: ProcessOptions): StartedProgram {
  const isWindows = process.platform === 'win32';
  return startPrepared(program, {
    ...{ cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'], shell: isWindows },
    // `detached` makes the shell the leader of a process group, so that its children end with it.
    detached: !isWindows,
  });
}

function collect(
  pipe: NodeJS.ReadableStream | null,
  isExposed: () => boolean,
): () => { text: string; isCut: boolean } {
  const chunks: Buffer[] = [];
  let length = 0;
  pipe?.on('error', () => {});
  pipe?.on('data', (chunk: Buffer) => {
    if (isExposed()) return;
    if (length < maxOutputBytes) chunks.push(chunk.subarray(0, maxOutputBytes - length));
    length += chunk.length;
  });
  return () => ({
    text: new TextDecoder().decode(Buffer.concat(chunks)),
    isCut: length > maxOutputBytes,
  });
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}
