import type { EventEmitter } from 'node:events';
import type { Terminal } from '../contract/chat-options.ts';
import type { SteadySize } from './debounced-size.ts';

export interface CoalescedOutput {
  /** In the place of the terminal, for whoever writes a frame in many pieces. */
  readonly stream: Terminal;
  /** Nothing is written until `release`: whoever draws has to draw all of it again then. */
  hold(): void;
  /** What is written first. */
  release(text: string): void;
  /** What waits is written, and what comes from now on is not made to wait. */
  end(): void;
}

interface OutputOptions {
  /** Without it no colour gets through, whoever writes one; only what is shown reversed, as a cursor is. */
  readonly hasColor: boolean;
  /** In the place of the terminal's. */
  readonly size?: Pick<SteadySize, 'columns' | 'rows' | 'on' | 'off'> | undefined;
  /** What was drawn is on its way to the terminal. */
  readonly onWritten?: (() => void) | undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours
const colors = /\u001b\[(?!2?7m)[\d;]*m/g;

type Done = (error?: Error | null) => void;

/**
 * What is written in one go reaches the terminal in one write, so that it never shows a frame that is
 * erased and not drawn again yet. Everything else is the terminal's own.
 */
export function coalescedOutput(
  terminal: Terminal,
  { hasColor, size, onWritten }: OutputOptions,
): CoalescedOutput {
  let waiting = '';
  let callbacks: Done[] = [];
  let isOver = false;
  let isHeld = false;
  const flush = () => {
    const [text, done] = [anchorMoves(waiting), callbacks];
    waiting = '';
    callbacks = [];
    if (text === '' && done.length === 0) return;
    if (text !== '') onWritten?.();
    terminal.write(text, (error) => {
      for (const one of done) one(error);
    });
  };
  const write = (data: string | Uint8Array, encoding?: string | Done, callback?: Done): boolean => {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (waiting === '' && callbacks.length === 0 && !isOver) queueMicrotask(flush);
    const text = isHeld ? '' : String(data);
    waiting += hasColor ? text : text.replace(colors, '');
    if (done !== undefined) callbacks.push(done);
    if (isOver) flush();
    return true;
  };
  const listening = (name: 'on' | 'off') => (event: string, listener: () => void) => {
    if (event === 'resize' && size !== undefined) size[name](listener);
    else terminal[name](event, listener);
    return stream;
  };
  const own: Readonly<Record<string | symbol, unknown>> = {
    write,
    ...{ on: listening('on'), off: listening('off') },
  };
  const stream: Terminal = new Proxy(terminal, {
    get: (target, name) => {
      if (name in own) return own[name];
      if (size !== undefined && (name === 'columns' || name === 'rows')) return size[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target as unknown as EventEmitter) : value;
    },
  });
  const hold = () => {
    flush();
    isHeld = true;
  };
  const release = (text: string) => {
    isHeld = false;
    write(text);
  };
  const end = () => {
    isOver = true;
    flush();
  };
  return { stream, hold, release, end };
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: these move the cursor
/** Down to the last row of what was drawn, and from there up to where the drawing begins. */
const overBottom = /\u001b\[(\d+)B\u001b\[1G\u001b\[(\d+)A/g;
const nextRow = /\u001b\[E/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: these move the cursor

/**
 * The same moves from where the cursor is, not from the row below everything. A terminal that became
 * lower drops the rows below the cursor, and may tell of it much later: until then a move down would
 * end early, the move up too high, and what was printed would be drawn over. A row that was dropped is
 * made again by a line feed, and by nothing else.
 */
export function anchorMoves(text: string): string {
  return text
    .replace(overBottom, (_, down: string, up: string) => {
      const rows = Number(up) - Number(down);
      const move = rows === 0 ? '' : rows > 0 ? `\u001b[${rows}A` : `\u001b[${-rows}B`;
      return `\u001b[1G${move}`;
    })
    .replace(nextRow, '\r\n');
}
