import type { FoldedText } from './editor-state.ts';
import { foldAround, gapAround } from './folded-text.ts';

const segmenter = new Intl.Segmenter();

/** Returns the start of the grapheme or fold that ends at an offset. */
export function stepBack(content: FoldedText, index: number): number {
  if (index <= 0) return 0;
  const fold = content.folds.find(({ end }) => end === index);
  return fold === undefined ? graphemeAt(content, index - 1).start : fold.start;
}

/** Returns the end of the grapheme or fold that starts at an offset. */
export function stepForward(content: FoldedText, index: number): number {
  if (index >= content.text.length) return content.text.length;
  const fold = content.folds.find(({ start }) => start === index);
  return fold === undefined ? graphemeAt(content, index).end : fold.end;
}

/** Returns the first valid cursor position at or after an offset. */
export function snapForward(content: FoldedText, index: number): number {
  const { start, end } = unitAround(content, index);
  return start === index ? index : end;
}

/** Returns the last valid cursor position at or before an offset. */
function snapBack(content: FoldedText, index: number): number {
  return unitAround(content, index).start;
}

function unitAround(content: FoldedText, index: number): { start: number; end: number } {
  const { length } = content.text;
  if (index <= 0) return { start: 0, end: 0 };
  if (index >= length) return { start: length, end: length };
  const fold = foldAround(content, index);
  if (fold !== undefined) return fold;
  // A grapheme never crosses the edge of a fold, even if the characters on both sides could
  // combine.
  const isEdge = content.folds.some(({ start, end }) => start === index || end === index);
  return isEdge ? { start: index, end: index } : graphemeAt(content, index);
}

/**
 * Returns the grapheme that contains the character at an offset. A grapheme never continues past a fold or a
 * line break.
 */
function graphemeAt(content: FoldedText, index: number): { start: number; end: number } {
  const { text } = content;
  if (text[index] === '\n') return { start: index, end: index + 1 };
  const gap = {
    start: content.folds.findLast(({ end }) => end <= index)?.end ?? 0,
    end: content.folds.find(({ start }) => start > index)?.start ?? text.length,
  };
  const from = Math.max(gap.start, text.lastIndexOf('\n', index) + 1);
  const newline = text.indexOf('\n', index);
  const line = text.slice(from, newline === -1 ? gap.end : Math.min(gap.end, newline));
  const segment = segmenter.segment(line).containing(index - from);
  if (segment === undefined) return { start: index, end: index + 1 };
  return { start: from + segment.index, end: from + segment.index + segment.segment.length };
}

const wordForm = /^[\p{L}\p{N}\p{M}_]/u;

/**
 * Returns the start of the word that contains an offset or is before it. A fold counts as a word.
 */
export function wordBefore(content: FoldedText, index: number): number {
  const { text, folds } = content;
  const gap = gapAround(content, index);
  let at = index;
  let isInWord = false;
  while (at > gap.start) {
    const char = codePointBefore(text, at);
    const isWord = wordForm.test(char);
    if (isInWord && !isWord) break;
    isInWord = isWord;
    at -= char.length;
  }
  if (at > gap.start || isInWord || at === 0) return snapBack(content, at);
  return folds.find(({ end }) => end === at)?.start ?? at;
}

/** Returns the end of the word that contains an offset or is after it. */
export function wordAfter(content: FoldedText, index: number): number {
  const { text, folds } = content;
  const gap = gapAround(content, index);
  let at = index;
  let isInWord = false;
  while (at < gap.end) {
    const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const isWord = wordForm.test(char);
    if (isInWord && !isWord) break;
    isInWord = isWord;
    at += char.length;
  }
  if (at < gap.end || isInWord || at === text.length) return snapForward(content, at);
  return folds.find(({ start }) => start === at)?.end ?? at;
}

function codePointBefore(text: string, index: number): string {
  const pair = text.slice(Math.max(0, index - 2), index);
  return pair.length === 2 && (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1);
}

/** Returns the start of the line that contains an offset. Newlines inside folds are ignored. */
export function lineStart(content: FoldedText, index: number): number {
  let at = index;
  while (at > 0) {
    const newline = content.text.lastIndexOf('\n', at - 1);
    if (newline === -1) return 0;
    const fold = content.folds.find(({ start, end }) => start <= newline && newline < end);
    if (fold === undefined) return newline + 1;
    at = fold.start;
  }
  return 0;
}

export function lineEnd(content: FoldedText, index: number): number {
  let at = index;
  while (true) {
    const newline = content.text.indexOf('\n', at);
    if (newline === -1) return content.text.length;
    const fold = content.folds.find(({ start, end }) => start <= newline && newline < end);
    if (fold === undefined) return newline;
    at = fold.end;
  }
}
