import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Clock } from '@millrace/agent';

interface HookProcessOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The JSON text for standard input. */
  readonly input: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** How the program of a hook ended. */
export interface HookResult {
  /** Undefined if the program did not start, was stopped, or died of a signal. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The reason why there is no exit code. */
  readonly problem?: string | undefined;
}

/** Maximum number of bytes of each output that are kept. The rest is read and dropped. */
const maxOutputBytes = 1024 * 1024;
/** How long output is read after the program has exited, because its children may hold the pipe. */
const drainMs = 250;

/**
 * Runs the command line of a hook. Resolves when the program has exited. At the time limit, or if
 * the signal aborts, the program and its children are killed. Never throws.
 */
export async function runHookProcess(
  command: string,
  { cwd, env, input, timeoutMs, signal, clock }: HookProcessOptions,
): Promise<HookResult> {
  const nothing = { exitCode: undefined, stdout: '', stderr: '' };
  if (signal.aborted) return { ...nothing, problem: 'it was stopped' };
  const ended = Promise.withResolvers<Pick<HookResult, 'exitCode' | 'problem'>>();
  let child: ChildProcess;
  try {
    child = startShell(command, cwd, env);
  } catch (error) {
    return { ...nothing, problem: `it did not start (${codeOf(error)})` };
  }
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const end = (problem: string) => {
    killGroup(child);
    ended.resolve({ exitCode: undefined, problem });
  };
  const onAbort = () => end('it was stopped');
  signal.addEventListener('abort', onAbort, { once: true });
  const seconds = Math.round(timeoutMs / 1000);
  const cancel = clock.after(timeoutMs, () => end(`it took longer than ${seconds} s`));
  let cancelDrain = () => {};
  child.once('error', (error) => end(`it did not start (${codeOf(error)})`));
  const byExit = (code: number | null, killer: NodeJS.Signals | null) =>
    code === null
      ? { exitCode: undefined, problem: `it died of ${killer ?? 'a signal'}` }
      : { exitCode: code };
  child.once('exit', (code, killer) => {
    cancelDrain = clock.after(drainMs, () => ended.resolve(byExit(code, killer)));
  });
  child.once('close', (code, killer) => ended.resolve(byExit(code, killer)));
  // A program that does not read its input closes the pipe, which is no error.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  const outcome = await ended.promise;
  cancel();
  cancelDrain();
  signal.removeEventListener('abort', onAbort);
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
  return { ...outcome, stdout: stdout(), stderr: stderr() };
}

function startShell(command: string, cwd: string, env: HookProcessOptions['env']): ChildProcess {
  const options = { cwd, env: { ...env }, stdio: 'pipe' as const };
  if (process.platform === 'win32') return spawn(command, { ...options, shell: true });
  const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
  // `detached` makes the shell the leader of a process group, so that its children end with it.
  return spawn(shell, ['-c', command], { ...options, detached: true });
}

function collect(pipe: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  pipe?.on('error', () => {});
  pipe?.on('data', (chunk: Buffer) => {
    if (length < maxOutputBytes) chunks.push(chunk.subarray(0, maxOutputBytes - length));
    length += chunk.length;
  });
  return () => new TextDecoder().decode(Buffer.concat(chunks));
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
