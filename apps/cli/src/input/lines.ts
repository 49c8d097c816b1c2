import type { Piece } from './editor-state.ts';

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
