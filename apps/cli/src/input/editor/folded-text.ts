import { stripVTControlCharacters } from 'node:util';
import type { Fold, FoldedText } from './editor-state.ts';

/** A paste with more lines than this is folded. */
const maxShownLines = 10;
const maxShownLength = 1000;

/** Returns pasted text. If it is long, the text is folded. */
export function pastedText(text: string): FoldedText {
  const lines = countLines(text);
  const isLong = lines > maxShownLines || text.length > maxShownLength;
  return { text, folds: isLong ? [{ start: 0, end: text.length, lines }] : [] };
}

export function foldLabel({ start, end, lines }: Fold): string {
  const count = lines > 1 ? lines : end - start;
  return `[pasted ${count.toLocaleString('en')} ${lines > 1 ? 'lines' : 'characters'}]`;
}

export function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return text.endsWith('\n') && lines > 1 ? lines - 1 : lines;
}

/** Returns the text from `start` to `end`. A fold that is only partly inside is dropped. */
export function sliceText({ text, folds }: FoldedText, start: number, end: number): FoldedText {
  const inside = folds.filter((fold) => fold.start >= start && fold.end <= end);
  return { text: text.slice(start, end), folds: inside.map((fold) => shiftFold(fold, -start)) };
}

/** Joins two texts. */
export function joinTexts(first: FoldedText, second: FoldedText): FoldedText {
  const folds = second.folds.map((fold) => shiftFold(fold, first.text.length));
  return { text: first.text + second.text, folds: [...first.folds, ...folds] };
}

function shiftFold(fold: Fold, by: number): Fold {
  return by === 0 ? fold : { ...fold, start: fold.start + by, end: fold.end + by };
}

/** Returns the fold that contains an offset. An offset at the edge of a fold is not inside it. */
export function foldAround({ folds }: FoldedText, index: number): Fold | undefined {
  return folds.find(({ start, end }) => start < index && index < end);
}

/** Returns the largest range around an offset that contains no fold. */
export function gapAround(
  { text, folds }: FoldedText,
  index: number,
): { start: number; end: number } {
  const start = folds.findLast((fold) => fold.end <= index)?.end ?? 0;
  const end = folds.find((fold) => fold.start >= index)?.start ?? text.length;
  return { start, end };
}

/**
 * Matches control characters that must be removed. Tabs and newlines are kept, because they are
 * text.
 */
const controls = /(?![\t\n])\p{Cc}/gu;

/**
 * Cleans a text for the prompt. All lines end with a line feed. Terminal control sequences and
 * unpaired surrogates are removed.
 */
export function plainText(text: string): string {
  const lines = stripVTControlCharacters(text).replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, '\n');
  return lines.replaceAll(controls, '').toWellFormed();
}
