import { fstatSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

interface GrepFileOptions {
  readonly regex: RegExp;
  /** Lines to show on either side of one that matches. */
  readonly contextLines: number;
  /** After so many lines that match, the rest of the file is not looked at. */
  readonly maxMatches: number;
  /** Of all lines that are shown, in characters; the last may go beyond. 0 where none are wanted. */
  readonly maxLength: number;
}

export interface FileMatches {
  readonly matches: number;
  readonly lines: readonly ShownLine[];
  /** As far as it was looked at. */
  readonly end: FileEnd;
}

/** Portions of a large file, some 100 KB each, after which others get their turn. */
const portionsAtOnce = 100;

/** The lines of an open file that match, with some around them. */
export async function grepFile(
  fd: number,
  { regex, contextLines, maxMatches, maxLength }: GrepFileOptions,
): Promise<FileMatches> {
  const window = contextWindow(contextLines, maxLength);
  let matches = 0;
  const portions = fileLines(fd);
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
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

const chunkBytes = 131_072;
const newline = 0x0a;
/** What is beyond, in one line, is not looked at. */
const maxLineBytes = 1_048_576;

/** How a file came to its end: `clipped` where not all of its lines was looked at. */
type FileEnd = 'text' | 'clipped' | 'binary';

/**
 * The lines of an open file, in portions. Ends with `binary` at the first NUL, which text does not have.
 * Reads without giving way, which is several times as fast for small files: for a thread of its own.
 */
export function* fileLines(fd: number): Generator<readonly FileLine[], FileEnd> {
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
    // A line that is too long is kept up to its bound, and the rest of it passed over.
    isSkipping = end === -1 && pending.length >= maxLineBytes;
    isClipped ||= isSkipping;
    if (end === -1) continue;
    const lines = linesOf(pending, number);
    number += lines.length;
    pending = bytes.subarray(end + 1);
    yield lines;
  }
  if (pending.length > 0) yield linesOf(pending, number);
  return isClipped ? 'clipped' : 'text';
}

function* chunksOf(fd: number): Generator<Buffer> {
  const { size } = fstatSync(fd);
  for (let position = 0; ; ) {
    // One byte more than there is, so that a small file ends with its first read; of what the system
    // makes up when it is read the size is 0.
    const most = Math.min(chunkBytes, Math.max(size - position, 4095) + 1);
    const chunk = Buffer.allocUnsafe(most);
    const bytesRead = readSync(fd, chunk, 0, most, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield chunk.subarray(0, bytesRead);
    if (position === size && bytesRead < most) return;
  }
}

function linesOf(bytes: Buffer, first: number): readonly FileLine[] {
  const text = bytes.toString('utf8');
  const lines = (first === 1 ? text.replace(/^\uFEFF/, '') : text).split('\n');
  return lines.map((line, index) => ({
    number: first + index,
    text: line.endsWith('\r') ? line.slice(0, -1) : line,
  }));
}

/** A line as it is shown. */
export interface ShownLine {
  readonly number: number;
  readonly text: string;
  /** Otherwise it is there for context. */
  readonly isMatch: boolean;
}

const maxShownLength = 500;
/** Of its number, and what is around it. */
const lineOverhead = 10;

interface ContextWindow {
  readonly shown: readonly ShownLine[];
  /** `foundAt`: where in the line something matches, if anything does. */
  push(number: number, text: string, foundAt: number | undefined): void;
  /** Lines that follow a match are still to come. */
  wantsMore(): boolean;
  isFull(): boolean;
}

/** Keeps the lines that match and so many on either side of each, up to a length. */
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

/** Of a line as it is shown, roughly. */
export function displayLength({ text }: ShownLine): number {
  return text.length + lineOverhead;
}

/** The part of a long line that is about the match. */
function clipAround(text: string, at: number): string {
  if (text.length <= maxShownLength) return text;
  const start = Math.max(0, Math.min(at - maxShownLength / 4, text.length - maxShownLength));
  const end = start + maxShownLength;
  const part = text.slice(start, end).toWellFormed();
  return `${start > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`;
}
