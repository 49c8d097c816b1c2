import stringWidth from 'string-width';
import type { Line } from './span.ts';

// As many cells as characters, and nothing to look up: ASCII, Latin, Greek and Cyrillic letters,
// punctuation, arrows, lines, and the pictures of control characters.
const singleCells =
  /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038e-\u03a1\u03a3-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2400-\u2426\u2500-\u257f\ufffd]*$/;
const segmenter = new Intl.Segmenter();

/** What was measured, so that a page of Chinese is measured by its few thousand characters. */
const widthCache = new Map<string, number>();
const maxCacheSize = 20_000;
/** What is longer is not met twice. */
const maxCachedLength = 16;

/** Whether each character of the text is one code unit and needs one cell. */
export function isSingleCells(text: string): boolean {
  return singleCells.test(text);
}

/** How many cells a terminal needs for the text; escape sequences need none. */
export function cellWidth(text: string): number {
  if (singleCells.test(text)) return text.length;
  if (text.length > maxCachedLength) return stringWidth(text);
  const found = widthCache.get(text);
  if (found !== undefined) return found;
  if (widthCache.size >= maxCacheSize) widthCache.clear();
  const width = stringWidth(text);
  widthCache.set(text, width);
  return width;
}

export interface Grapheme {
  readonly text: string;
  readonly width: number;
}

/** What a reader takes for one character, with the cells it needs. */
export function* graphemes(text: string): Generator<Grapheme> {
  for (const { segment } of segmenter.segment(text)) {
    yield { text: segment, width: cellWidth(segment) };
  }
}

/** The cells of the longest piece that no line break can be put in. */
export function longestWord(line: Line): number {
  let longest = 0;
  for (const { text } of line) {
    for (const [word] of text.matchAll(/[^ \n]+/g)) {
      longest = Math.max(longest, isSingleCells(word) ? word.length : longestNarrowRun(word));
    }
  }
  return longest;
}

/** Around wide characters, lines may break. */
function longestNarrowRun(word: string): number {
  let [longest, current] = [0, 0];
  for (const { width } of graphemes(word)) {
    current = width > 1 ? 0 : current + width;
    longest = Math.max(longest, current, width);
  }
  return longest;
}
