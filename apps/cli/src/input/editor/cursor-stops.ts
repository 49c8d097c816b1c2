import type { Piece } from './editor-state.ts';
import { foldAround, gapAround } from './folded-text.ts';

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
function snapBack(piece: Piece, index: number): number {
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

const wordForm = /^[\p{L}\p{N}\p{M}_]/u;

/** Where the word begins that is before an offset, or that it is in. A fold is a word. */
export function wordBefore(piece: Piece, index: number): number {
  const { text, folds } = piece;
  const gap = gapAround(piece, index);
  let at = index;
  let isInWord = false;
  while (at > gap.start) {
    const char = codePointBefore(text, at);
    const isWord = wordForm.test(char);
    if (isInWord && !isWord) break;
    isInWord = isWord;
    at -= char.length;
  }
  if (at > gap.start || isInWord || at === 0) return snapBack(piece, at);
  return folds.find(({ end }) => end === at)?.start ?? at;
}

/** Where the word ends that is behind an offset, or that it is in. */
export function wordAfter(piece: Piece, index: number): number {
  const { text, folds } = piece;
  const gap = gapAround(piece, index);
  let at = index;
  let isInWord = false;
  while (at < gap.end) {
    const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const isWord = wordForm.test(char);
    if (isInWord && !isWord) break;
    isInWord = isWord;
    at += char.length;
  }
  if (at < gap.end || isInWord || at === text.length) return snapForward(piece, at);
  return folds.find(({ start }) => start === at)?.end ?? at;
}

function codePointBefore(text: string, index: number): string {
  const pair = text.slice(Math.max(0, index - 2), index);
  return pair.length === 2 && (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1);
}

/** Where the line begins that an offset is in. Newlines inside of folds do not count. */
export function lineStart(piece: Piece, index: number): number {
  let at = index;
  while (at > 0) {
    const newline = piece.text.lastIndexOf('\n', at - 1);
    if (newline === -1) return 0;
    const fold = piece.folds.find(({ start, end }) => start <= newline && newline < end);
    if (fold === undefined) return newline + 1;
    at = fold.start;
  }
  return 0;
}

export function lineEnd(piece: Piece, index: number): number {
  let at = index;
  while (true) {
    const newline = piece.text.indexOf('\n', at);
    if (newline === -1) return piece.text.length;
    const fold = piece.folds.find(({ start, end }) => start <= newline && newline < end);
    if (fold === undefined) return newline;
    at = fold.end;
  }
}
