import { stripVTControlCharacters } from 'node:util';
import type { Fold, Piece } from './editor-state.ts';

/** Pastes above either are shown folded. */
const maxShownLines = 10;
const maxShownLength = 1000;

/** A paste, folded if it is long. */
export function pastedPiece(text: string): Piece {
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

/** The piece from `start` to `end`. What is folded only in part is not folded in it. */
export function slicePiece({ text, folds }: Piece, start: number, end: number): Piece {
  const inside = folds.filter((fold) => fold.start >= start && fold.end <= end);
  return { text: text.slice(start, end), folds: inside.map((fold) => shifted(fold, -start)) };
}

/** One after the other. */
export function joinPieces(first: Piece, second: Piece): Piece {
  const folds = second.folds.map((fold) => shifted(fold, first.text.length));
  return { text: first.text + second.text, folds: [...first.folds, ...folds] };
}

function shifted(fold: Fold, by: number): Fold {
  return by === 0 ? fold : { ...fold, start: fold.start + by, end: fold.end + by };
}

/** The fold that an offset is strictly inside of. */
export function foldAround({ folds }: Piece, index: number): Fold | undefined {
  return folds.find(({ start, end }) => start < index && index < end);
}

/** The text around an offset that has no fold in it. */
export function gapAround({ text, folds }: Piece, index: number): { start: number; end: number } {
  const start = folds.findLast((fold) => fold.end <= index)?.end ?? 0;
  const end = folds.find((fold) => fold.start >= index)?.start ?? text.length;
  return { start, end };
}

/** Tabs and newlines are text. Everything else that steers a terminal is not. */
const controls = /(?![\t\n])\p{Cc}/gu;

/** Text as the prompt holds it: `\n` at line ends, nothing that steers a terminal, no half characters. */
export function plainText(text: string): string {
  const lines = stripVTControlCharacters(text).replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, '\n');
  return lines.replaceAll(controls, '').toWellFormed();
}
