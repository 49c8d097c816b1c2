import type { EventEmitter } from 'node:events';
import { withWrapModes } from '../../text/terminal/terminal-gate.ts';
import type { Terminal } from '../contract/chat-options.ts';
import type { DebouncedSize } from './debounced-size.ts';
import { eraseBelow } from './reflow.ts';

export interface CoalescedOutput {
  /**
   * A stream that replaces the terminal. It is for a renderer that writes a frame in several
   * pieces.
   */
  readonly stream: Terminal;
  /** Drops all output until `release`. The renderer must draw everything again afterwards. */
  hold(): void;
  /** Accepts output again. `text` is written first. */
  release(text: string): void;
  /** Removes the buffered output, and returns it. */
  take(): string;
  /** Writes the buffered output. Later output is written immediately. */
  close(): void;
}

interface OutputOptions {
  /** If it returns false, all colors are removed. Reverse video is kept, because it marks the cursor. */
  readonly hasColor: () => boolean;
  /** Replaces the size of the terminal. Default: the terminal's own size. */
  readonly size?: Pick<DebouncedSize, 'columns' | 'rows' | 'on' | 'off'> | undefined;
  /** Called when a frame is written to the terminal. */
  readonly onWritten?: (() => void) | undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours
const colors = /\u001b\[(?!2?7m)[\d;]*m/g;

type WriteCallback = (error?: Error | null) => void;

/**
 * Collects all output of one tick and writes it together. So the terminal never shows a half-drawn
 * frame. The stream has all other properties of the terminal.
 */
export function coalescedOutput(
  terminal: Terminal,
  { hasColor, size, onWritten }: OutputOptions,
): CoalescedOutput {
  let waiting = '';
  let callbacks: WriteCallback[] = [];
  let isOver = false;
  let isHeld = false;
  const flush = () => {
    const [text, done] = [anchorMovesToCursor(waiting), callbacks];
    waiting = '';
    callbacks = [];
    if (text === '' && done.length === 0) return;
    if (text !== '') onWritten?.();
    terminal.write(text, (error) => {
      for (const one of done) one(error);
    });
  };
  const write = (
    data: string | Uint8Array,
    encoding?: string | WriteCallback,
    callback?: WriteCallback,
  ): boolean => {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (waiting === '' && callbacks.length === 0 && !isOver) queueMicrotask(flush);
    const text = isHeld ? '' : withWrapModes(String(data));
    waiting += hasColor() ? text : text.replace(colors, '');
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
  const take = () => {
    const taken = waiting;
    waiting = '';
    return taken;
  };
  const end = () => {
    isOver = true;
    flush();
  };
  return { stream, hold, release, take, close: end };
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: these move the cursor
/** Matches a move down to the last row of the frame, followed by a move up to its first row. */
const moveOverBottom = /\u001b\[(\d+)B\u001b\[1G\u001b\[(\d+)A/g;
const nextRow = /\u001b\[E/g;
/** Matches an erase of everything below, which starts in the first column. */
const eraseFromMargin = /\u001b\[1G\u001b\[0?J/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: these move the cursor

/**
 * Replaces moves over the last row of the frame with moves relative to the cursor.
 *
 * If the user makes the window lower, the terminal drops the rows below the cursor, and may report
 * the new size much later. Until then, a move down stops too early, so the move up goes too far and
 * printed lines are overwritten. Only a line feed creates a dropped row again, so a move to the
 * next row becomes a line feed.
 *
 * After a resize, a frame can start in the first row. tmux would add the erased frame to its
 * history, so no erased area starts in the first column.
 */
export function anchorMovesToCursor(text: string): string {
  return text
    .replace(moveOverBottom, (_, down: string, up: string) => {
      const rows = Number(up) - Number(down);
      const move = rows === 0 ? '' : rows > 0 ? `\u001b[${rows}A` : `\u001b[${-rows}B`;
      return `\u001b[1G${move}`;
    })
    .replace(nextRow, '\r\n')
    .replace(eraseFromMargin, eraseBelow);
}
