import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import { childEnv } from '../../../core/src/testing/runs.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** A program in a child process. Both sides exchange JSON lines. */
export interface ChildProgram {
  readonly pid: number;
  /** Resolves when the process has ended and all its output was read. */
  readonly exit: Promise<Exit>;
  send(order: unknown): void;
  /** Closes the program's standard input. */
  end(): void;
  kill(signal: NodeJS.Signals): void;
}

interface StartOptions {
  readonly args?: readonly string[];
  /** Folder for compiled code, which makes repeated starts faster. Default: the folder of the test run. */
  readonly codeCache?: string;
  readonly onMessage: (value: unknown) => void;
}

export function startProcess(program: URL, options: StartOptions): ChildProgram {
  const { args = [], onMessage: onTold, codeCache } = options;
  const flags = ['--conditions=@millrace/source'];
  const cached = codeCache === undefined ? {} : { NODE_COMPILE_CACHE: codeCache };
  const child = spawn(process.execPath, [...flags, bundledProgram(program), ...args], {
    env: { ...childEnv(), ...cached },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A killed process no longer reads its input, so writing to it causes an error. The error is ignored.
  child.stdin.on('error', () => {});
  readLines(child, onTold);
  return {
    pid: child.pid ?? 0,
    exit: exitOf(child),
    send: (order) => child.stdin.write(`${JSON.stringify(order)}\n`),
    end: () => child.stdin.end(),
    kill: (signal) => child.kill(signal),
  };
}

/**
 * Parses each line of the output and calls `onTold`. If a crash cut off the last line, that line is
 * ignored.
 */
function readLines({ stdout }: ChildProcess, onTold: (value: unknown) => void): void {
  let left = '';
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (left + text).split('\n');
    left = lines.pop() ?? '';
    for (const line of lines) onTold(JSON.parse(line));
  });
}

async function exitOf(child: ChildProcess): Promise<Exit> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, stderr };
}

let isCacheStored = false;

/**
 * Sends a value to the parent process. The write is synchronous, so the parent receives it even if
 * this process is killed right after.
 */
export function sendToParent(value: unknown): void {
  // A killed process would not store its compiled code for the next one.
  if (!isCacheStored) flushCompileCache();
  isCacheStored = true;
  let left = Buffer.from(`${JSON.stringify(value)}\n`);
  while (left.length > 0) left = left.subarray(writeSync(1, left));
}

/** Yields the values that the parent process sends, until it closes the input. */
export async function* messagesFromParent<Order>(): AsyncGenerator<Order> {
  for await (const line of createInterface({ input: process.stdin })) {
    yield JSON.parse(line) as Order;
  }
}
