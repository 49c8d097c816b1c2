import type { Piece } from './editor-state.ts';
import { gapAround } from './folds.ts';
import { snapBack, snapForward } from './graphemes.ts';

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
