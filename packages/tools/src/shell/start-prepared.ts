import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import { type PreparedCommand, SandboxError } from '../contract/sandbox.ts';
import { startLine } from '../sandbox/command-limits.ts';
import { stopIfStuck } from './stuck-thread.ts';

/** Options of `startPrepared`. */
export interface StartPreparedOptions extends Omit<SpawnOptions, 'stdio'> {
  /** Standard input, output and error of the program. */
  readonly stdio: readonly ('ignore' | 'pipe' | number)[];
  /**
   * The descriptors that the program must not inherit, in ascending order. They get this descriptor instead. Default: the
   * program inherits all descriptors of this process without close-on-exec.
   */
  readonly replaced?: { readonly descriptors: readonly number[]; readonly by: number } | undefined;
}

/** A started program. */
export interface StartedProgram {
  readonly child: ChildProcess;
  /**
   * Resolves when the command in the sandbox may run, or when the program has ended. Rejects with a `SandboxError` if the
   * sandbox is not as planned. The command then does not run, and the program ends by itself.
   */
  readonly admitted: Promise<void>;
  /**
   * Returns true if the sandbox was killed, because it kept this process waiting in a file system call, so that this
   * process could not check what the command did.
   */
  isStuck(): boolean;
}

/**
 * Starts a prepared command. The command itself runs only after the sandbox has checked it.
 *
 * @example
 * const prepared = await sandbox.prepare({ root, command: ['/bin/ls'], env: {} });
 * const { child, admitted } = startPrepared(prepared, { stdio: ['ignore', 'pipe', 'pipe'] });
 */
export function startPrepared(
  prepared: Pick<PreparedCommand, 'program' | 'args' | 'fds' | 'check'>,
  { stdio, replaced, ...options }: StartPreparedOptions,
): StartedProgram {
  const { program, args, fds, check } = prepared;
  const all: ('ignore' | 'pipe' | number)[] = [...stdio, ...fds];
  const gateAt = all.length;
  if (check !== undefined) all.push('pipe');
  const used = all.length;
  for (const descriptor of replaced?.descriptors ?? []) {
    if (descriptor < used) continue;
    while (all.length < descriptor) all.push('ignore');
    all[descriptor] = replaced?.by ?? 'ignore';
  }
  const child = spawn(program, args, { ...options, stdio: all });
  const admitted =
    check === undefined ? Promise.resolve() : admit(child, child.stdio[gateAt], check);
  // The caller may learn of a program that did not start before it uses the promise.
  admitted.catch(() => {});
  const isStuck = check === undefined ? () => false : stopIfStuck(child);
  return { child, admitted, isStuck };
}

async function admit(
  child: ChildProcess,
  gate: ChildProcess['stdio'][number] | undefined,
  check: NonNullable<PreparedCommand['check']>,
): Promise<void> {
  const ended = new AbortController();
  for (const event of ['exit', 'error']) child.once(event, () => ended.abort());
  // The program may have ended, and then nobody reads the line.
  gate?.on('error', () => {});
  let isAsPlanned = false;
  try {
    if (child.pid !== undefined) isAsPlanned = await check(ended.signal);
  } finally {
    // Without the line, the program ends and does not run the command.
    if (gate instanceof Writable) gate.end(isAsPlanned ? `${startLine}\n` : '');
    else gate?.destroy();
  }
  if (!isAsPlanned && !ended.signal.aborted && child.pid !== undefined) throw replacedError();
}

function replacedError(): SandboxError {
  const message =
    'Cannot run the command in the sandbox: while it started, another process replaced a folder that contains protected files. Nothing was run. Stop the other commands, and run it again';
  return new SandboxError('cannot_confine', message, {});
}
