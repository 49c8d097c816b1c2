import { setImmediate } from 'node:timers/promises';
import { contextWindow, type ShownLine } from './context-window.ts';
import { type FileEnd, fileLines } from './file-lines.ts';

export interface GrepFileOptions {
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
      window.take(number, text, found?.index);
      const isEnough = maxLength > 0 && window.isFull();
      if (isEnough || (isLast && !window.wantsMore())) {
        return { matches, lines: window.shown, end: 'text' };
      }
    }
  }
}
