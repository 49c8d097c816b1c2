import type { ChildProcess } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** Returns whether a process has ended or never started. */
export function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Returns whether the promise resolves within a time. */
export async function settlesWithin(ms: number, done: Promise<boolean>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([done, promise]);
  } finally {
    clearTimeout(timer);
  }
}

// The number of bytes to keep. It is larger than the shown text, because a secret at the edge must be
// complete to be redacted.
const keptBytes = 16_384;
const shownLength = 2_000;

/** Keeps the last part of a program's output. */
export class OutputTail {
  #bytes: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    const all = Buffer.concat([this.#bytes, chunk]);
    this.#bytes = all.subarray(Math.max(0, all.length - keptBytes));
  }

  text(redact: (text: string) => string): string {
    const plain = redact(stripVTControlCharacters(this.#bytes.toString('utf8')));
    return plain.slice(-shownLength).toWellFormed().trim();
  }
}

/** Splits chunks of bytes into lines and limits the length of a line. */
export class LineSplitter {
  readonly #maxBytes: number;
  // The pieces of the unfinished line. They are joined only once, so the time is linear.
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Yields the lines that end in this chunk. Throws if a line is too long. */
  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let to = chunk.indexOf(10); to !== -1; to = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, to));
      from = to + 1;
      yield this.#take();
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) throw tooLongError(this.#maxBytes);
    if (piece.length > 0) this.#pieces.push(piece);
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#length = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

function tooLongError(maxBytes: number): RangeError {
  return new RangeError(`It sent a message of more than ${maxBytes} bytes (maxMessageBytes)`);
}

/**
 * True if the child process gets its own process group. A wrapper such as `npx` is then stopped together with
 * its server. Ctrl-C at the terminal reaches neither of them. Windows has no process groups.
 */
export const hasOwnGroup: boolean = process.platform !== 'win32';

/** The running processes. They are killed if this process exits without closing them. */
const running = new Set<ChildProcess>();

/** Makes sure that a process is stopped if this process exits first. */
export function trackGroup(child: ChildProcess): void {
  if (running.size === 0) process.on('exit', terminateAll);
  running.add(child);
}

/** Kills the remaining processes of the child's group. It is called when the child has ended. */
export function endGroup(child: ChildProcess): void {
  if (hasOwnGroup) signalGroup(child, 'SIGKILL');
  running.delete(child);
  if (running.size === 0) process.off('exit', terminateAll);
}

/** Sends a signal to a process and its children. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(hasOwnGroup ? -child.pid : child.pid, signal);
  } catch {
    // The group has already ended, so the error is ignored.
  }
}

function terminateAll(): void {
  for (const child of running) signalGroup(child, 'SIGTERM');
}
