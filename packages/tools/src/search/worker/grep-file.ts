import { fstatSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { countLines } from '../../files/text-file.ts';

interface GrepFileOptions {
  readonly regex: RegExp;
  /** Number of lines to show before and after a match. */
  readonly contextLines: number;
  /** Maximum number of matching lines. The search of the file stops at this number. */
  readonly maxMatches: number;
  /**
   * Maximum length of all shown lines, in characters. The last line may exceed it. 0 if the caller needs no
   * lines.
   */
  readonly maxLength: number;
}

export interface FileMatches {
  readonly matches: number;
  readonly lines: readonly ShownLine[];
  /** The kind of the file, as far as it was searched. */
  readonly end: FileEnd;
}

/** The number of portions after which the thread runs its other tasks. A portion has about 100 KB. */
const portionsAtOnce = 100;

/** Finds the matching lines of an open file, with context lines. */
export async function grepFile(
  fd: number,
  { regex, contextLines, maxMatches, maxLength }: GrepFileOptions,
): Promise<FileMatches> {
  const window = contextWindow(contextLines, maxLength);
  let matches = 0;
  const portions = fileLines(fd, contextLines === 0 ? quickRegex(regex) : undefined);
  for (let count = 1; ; count++) {
    if (count % portionsAtOnce === 0) await setImmediate();
    const { done, value } = portions.next();
    if (done) return { matches, lines: window.shown, end: value };
    for (const { number, text } of value) {
      const isLast = matches === maxMatches;
      const found = isLast ? null : regex.exec(text);
      if (found !== null) matches++;
      window.push(number, text, found?.index);
      const isEnough = maxLength > 0 && window.isFull();
      if (isEnough || (isLast && !window.wantsMore())) {
        return { matches, lines: window.shown, end: 'text' };
      }
    }
  }
}

interface FileLine {
  /** Line number, counted from 1. */
  readonly number: number;
  readonly text: string;
}

const chunkBytes = 131_072;
const newline = 0x0a;
/** Maximum number of bytes of a line to search. The rest of a longer line is skipped. */
const maxLineBytes = 1_048_576;

/** The kind of a searched file. `clipped` means that some of its lines were searched only in part. */
type FileEnd = 'text' | 'clipped' | 'binary';

/**
 * Yields the lines of an open file in portions. Returns `binary` at the first NUL byte, because text never
 * contains it. Use it only in a worker thread: it reads synchronously, which is several times faster for
 * small files.
 */
export function* fileLines(fd: number, quick?: RegExp): Generator<readonly FileLine[], FileEnd> {
  let pending: Buffer = Buffer.alloc(0);
  let isSkipping = false;
  let isClipped = false;
  let number = 1;
  for (const read of chunksOf(fd)) {
    if (read.includes(0)) return 'binary';
    const next = isSkipping ? read.indexOf(newline) : 0;
    if (next === -1) continue;
    const bytes = read.subarray(next);
    const end = bytes.lastIndexOf(newline);
    pending = Buffer.concat([pending, end === -1 ? bytes : bytes.subarray(0, end)]);
    // A line that is too long is searched up to the limit. Its rest is skipped.
    isSkipping = end === -1 && pending.length >= maxLineBytes;
    isClipped ||= isSkipping;
    if (end === -1) continue;
    const text = textOf(pending, number);
    pending = bytes.subarray(end + 1);
    if (quick?.test(text) === false) number += countLines(text) + 1;
    else {
      const lines = linesOf(text, number);
      number += lines.length;
      yield lines;
    }
  }
  const rest = textOf(pending, number);
  // A file that contains only a byte order mark has no line.
  if (rest !== '' && quick?.test(rest) !== false) yield linesOf(rest, number);
  return isClipped ? 'clipped' : 'text';
}

function* chunksOf(fd: number): Generator<Buffer> {
  const { size } = fstatSync(fd);
  for (let position = 0; ; ) {
    // The code reads one byte more than expected, so that a small file needs only one read. Files that the
    // system generates on reading have the size 0.
    const most = Math.min(chunkBytes, Math.max(size - position, 4095) + 1);
    const chunk = Buffer.allocUnsafe(most);
    const bytesRead = readSync(fd, chunk, 0, most, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield chunk.subarray(0, bytesRead);
    if (position === size && bytesRead < most) return;
  }
}

/** Decodes a portion. It removes a byte order mark at the start of the file. */
function textOf(bytes: Buffer, first: number): string {
  const text = bytes.toString('utf8');
  return first === 1 ? text.replace(/^\uFEFF/, '') : text;
}

/**
 * Returns an expression that quickly tests several lines before they are split. Returns undefined if a part
 * of the expression could match a line break or look at the next line.
 */
export function quickRegex({ source, flags }: RegExp): RegExp | undefined {
  const canCrossLines = /\[\^|\\[sDWBnrvfpPkux0-9c]|\(\?/.test(source) || flags.includes('s');
  return canCrossLines ? undefined : new RegExp(source, `${flags.replace(/[gmy]/g, '')}m`);
}

function linesOf(text: string, first: number): readonly FileLine[] {
  return text.split('\n').map((line, index) => ({
    number: first + index,
    text: line.endsWith('\r') ? line.slice(0, -1) : line,
  }));
}

/** A line in the result. */
export interface ShownLine {
  readonly number: number;
  readonly text: string;
  /** True if the line matches. False for a context line. */
  readonly isMatch: boolean;
}

const maxShownLength = 500;
/** Approximate length of the line number and the separators. */
const lineOverhead = 10;

interface ContextWindow {
  readonly shown: readonly ShownLine[];
  /**
   * Adds a line. `foundAt` is the position of the match in the line. It is undefined for a line without a
   * match.
   */
  push(number: number, text: string, foundAt: number | undefined): void;
  /** Returns true if more context lines are needed after a match. */
  wantsMore(): boolean;
  isFull(): boolean;
}

/**
 * Returns an object that collects the matching lines and the context lines around them, up to a maximum
 * length.
 */
function contextWindow(contextLines: number, maxLength: number): ContextWindow {
  const shown: ShownLine[] = [];
  const before: ShownLine[] = [];
  let wanted = 0;
  let length = 0;
  const show = (line: ShownLine) => {
    shown.push(line);
    length += displayLength(line);
  };
  const isFull = () => length >= maxLength;
  return {
    shown,
    isFull,
    wantsMore: () => wanted > 0 && !isFull(),
    push(number, text, foundAt) {
      if (isFull()) return;
      const isMatch = foundAt !== undefined;
      if (!isMatch && contextLines === 0) return;
      const line = { number, text: clipAround(text, foundAt ?? 0), isMatch };
      if (!isMatch && wanted === 0) {
        before.push(line);
        if (before.length > contextLines) before.shift();
        return;
      }
      for (const one of before.splice(0)) show(one);
      show(line);
      wanted = isMatch ? contextLines : wanted - 1;
    },
  };
}

/** Returns the approximate length of a line in the output. */
export function displayLength({ text }: ShownLine): number {
  return text.length + lineOverhead;
}

/** Shortens a long line to the part around the match. */
function clipAround(text: string, at: number): string {
  if (text.length <= maxShownLength) return text;
  const start = Math.max(0, Math.min(at - maxShownLength / 4, text.length - maxShownLength));
  const end = start + maxShownLength;
  const part = text.slice(start, end).toWellFormed();
  return `${start > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`;
}
