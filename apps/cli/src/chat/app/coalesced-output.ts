import type { EventEmitter } from 'node:events';

/** A terminal to write to, as Node has it. */
export interface Terminal extends NodeJS.WritableStream {
  readonly columns?: number;
  readonly rows?: number;
  readonly isTTY?: boolean;
}

export interface CoalescedOutput {
  /** In the place of the terminal, for whoever writes a frame in many pieces. */
  readonly stream: Terminal;
  /** What waits is written, and what comes from now on is not made to wait. */
  end(): void;
}

export interface OutputOptions {
  /** Without it no colour gets through, whoever writes one; only what is shown reversed, as a cursor is. */
  readonly hasColor: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours
const colors = /\u001b\[(?!2?7m)[\d;]*m/g;

type Done = (error?: Error | null) => void;

/**
 * What is written in one go reaches the terminal in one write, so that it never shows a frame that is
 * erased and not drawn again yet. Everything else is the terminal's own.
 */
export function coalescedOutput(terminal: Terminal, { hasColor }: OutputOptions): CoalescedOutput {
  let waiting = '';
  let callbacks: Done[] = [];
  let isOver = false;
  const flush = () => {
    const [text, done] = [waiting, callbacks];
    waiting = '';
    callbacks = [];
    if (text === '' && done.length === 0) return;
    terminal.write(text, (error) => {
      for (const one of done) one(error);
    });
  };
  const write = (data: string | Uint8Array, encoding?: string | Done, callback?: Done): boolean => {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (waiting === '' && callbacks.length === 0 && !isOver) queueMicrotask(flush);
    waiting += hasColor ? String(data) : String(data).replace(colors, '');
    if (done !== undefined) callbacks.push(done);
    if (isOver) flush();
    return true;
  };
  const stream = new Proxy(terminal, {
    get: (target, name) => {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target as unknown as EventEmitter) : value;
    },
  });
  const end = () => {
    isOver = true;
    flush();
  };
  return { stream, end };
}
