import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** A program in a process of its own, with a pipe each way: lines of JSON. */
export interface Started {
  readonly pid: number;
  /** When it is gone, and all that it said was heard. */
  readonly exit: Promise<Exit>;
  send(order: unknown): void;
  /** It hears that nothing more is coming. */
  end(): void;
  kill(signal: NodeJS.Signals): void;
}

interface StartOptions {
  readonly args?: readonly string[];
  /** Where compiled code is kept, so that those who start often start fast. */
  readonly codeCache?: string;
  readonly onTold: (value: unknown) => void;
}

export function startProcess(program: URL, options: StartOptions): Started {
  const { args = [], onTold, codeCache } = options;
  const flags = ['--conditions=@millrace/source'];
  const cached = codeCache === undefined ? {} : { NODE_COMPILE_CACHE: codeCache };
  const child = spawn(process.execPath, [...flags, fileURLToPath(program), ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...cached },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // Who was killed does not read any more.
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

/** A line without its end was cut off by a death, and was not said. */
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

/**
 * Says something to the process that started this one. It is said when this returns: whatever happens
 * to this process afterwards, the other one hears it.
 */
export function tell(value: unknown): void {
  let left = Buffer.from(`${JSON.stringify(value)}\n`);
  while (left.length > 0) left = left.subarray(writeSync(1, left));
}

/** What the process that started this one says, until it has no more to say. */
export async function* orders<Order>(): AsyncGenerator<Order> {
  for await (const line of createInterface({ input: process.stdin })) {
    yield JSON.parse(line) as Order;
  }
}
