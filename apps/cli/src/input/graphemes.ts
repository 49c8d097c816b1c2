import type { Piece } from './editor-state.ts';
import { foldAround } from './folds.ts';

const segmenter = new Intl.Segmenter();

/** Where the grapheme or fold begins that ends at an offset. */
export function stepBack(piece: Piece, index: number): number {
  if (index <= 0) return 0;
  const fold = piece.folds.find(({ end }) => end === index);
  return fold === undefined ? graphemeAt(piece, index - 1).start : fold.start;
}

/** Where the grapheme or fold ends that begins at an offset. */
export function stepForward(piece: Piece, index: number): number {
  if (index >= piece.text.length) return piece.text.length;
  const fold = piece.folds.find(({ start }) => start === index);
  return fold === undefined ? graphemeAt(piece, index).end : fold.end;
}

/** The nearest place at or behind an offset where a cursor can be. */
export function snapForward(piece: Piece, index: number): number {
  const { start, end } = surrounding(piece, index);
  return start === index ? index : end;
}

/** The nearest place at or before an offset where a cursor can be. */
export function snapBack(piece: Piece, index: number): number {
  return surrounding(piece, index).start;
}

function surrounding(piece: Piece, index: number): { start: number; end: number } {
  const { length } = piece.text;
  if (index <= 0) return { start: 0, end: 0 };
  if (index >= length) return { start: length, end: length };
  const fold = foldAround(piece, index);
  if (fold !== undefined) return fold;
  // At a fold's edge nothing goes on, whatever characters meet there.
  const isEdge = piece.folds.some(({ start, end }) => start === index || end === index);
  return isEdge ? { start: index, end: index } : graphemeAt(piece, index);
}

/** The grapheme that has the character at an offset. Folds cut graphemes, and so do lines. */
function graphemeAt(piece: Piece, index: number): { start: number; end: number } {
  const { text } = piece;
  if (text[index] === '\n') return { start: index, end: index + 1 };
  const gap = {
    start: piece.folds.findLast(({ end }) => end <= index)?.end ?? 0,
    end: piece.folds.find(({ start }) => start > index)?.start ?? text.length,
  };
  const from = Math.max(gap.start, text.lastIndexOf('\n', index) + 1);
  const newline = text.indexOf('\n', index);
  const line = text.slice(from, newline === -1 ? gap.end : Math.min(gap.end, newline));
  const found = segmenter.segment(line).containing(index - from);
  if (found === undefined) return { start: index, end: index + 1 };
  return { start: from + found.index, end: from + found.index + found.segment.length };
}
