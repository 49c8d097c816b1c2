import stringWidth from 'string-width';
import type { Line } from './span.ts';

// Characters that always take one cell: ASCII, Latin, Greek and Cyrillic letters, punctuation,
// arrows, lines, and pictures of control characters.
const singleCells =
  /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038e-\u03a1\u03a3-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2400-\u2426\u2500-\u257f\ufffd]*$/;
const segmenter = new Intl.Segmenter();

/** Caches measured widths. A page of Chinese then needs only a few thousand measurements. */
const widthCache = new Map<string, number>();
const maxCacheSize = 20_000;
/** Longer texts rarely repeat. */
const maxCachedLength = 16;

/** Returns whether each character is one code unit and one cell wide. */
export function isSingleCells(text: string): boolean {
  return singleCells.test(text);
}

/** Returns the number of terminal cells of a text. Escape sequences take none. */
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

/** Yields the user-perceived characters with their widths. */
export function* graphemes(text: string): Generator<Grapheme> {
  for (const { segment } of segmenter.segment(text)) {
    yield { text: segment, width: cellWidth(segment) };
  }
}

/** Returns the width of the longest piece without a possible line break. */
export function longestWord(line: Line): number {
  let longest = 0;
  for (const { text } of line) {
    for (const [word] of text.matchAll(/[^ \n]+/g)) {
      longest = Math.max(longest, isSingleCells(word) ? word.length : longestNarrowRun(word));
    }
  }
  return longest;
}

/** A line may break before and after a wide character. */
function longestNarrowRun(word: string): number {
  let [longest, current] = [0, 0];
  for (const { width } of graphemes(word)) {
    current = width > 1 ? 0 : current + width;
    longest = Math.max(longest, current, width);
  }
  return longest;
}
