import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import type { Line } from './span.ts';

// Matches text in which every character is one cell wide. These are ASCII, Latin, Greek and
// Cyrillic letters, punctuation, arrows, lines, and pictures of control characters.
const singleCells =
  /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038e-\u03a1\u03a3-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2400-\u2426\u2500-\u257f\ufffd]*$/;
const segmenter = new Intl.Segmenter();
const ascii = /^[ -~]*$/;

/** True while `withLargestWidths` runs. */
let usesLargest = false;

/**
 * Runs a drawing in which each code point counts with the largest width that any terminal gives it. Terminals disagree
 * about emoji, joined characters, new characters, and characters that are wide in East Asian fonts. If a line of a
 * question were wider than the chat assumes, the terminal would cut it or move other lines of the question.
 */
export function withLargestWidths<T>(draw: () => T): T {
  const before = usesLargest;
  usesLargest = true;
  try {
    return draw();
  } finally {
    usesLargest = before;
  }
}

/**
 * Caches measured widths. With this cache, a page of Chinese text needs only a few thousand
 * measurements.
 */
const widthCache = new Map<string, number>();
const maxCacheSize = 20_000;
/** Maximum length of a cached character, in code units. Longer characters rarely repeat. */
const maxCachedLength = 16;

/** Returns true if each character is one code unit and one cell wide. */
export function isSingleCells(text: string): boolean {
  return (usesLargest ? ascii : singleCells).test(text);
}

/**
 * Returns the width of a text in terminal cells, as most terminals draw it. Escape sequences have no width.
 */
export function cellWidth(text: string): number {
  if (isSingleCells(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(stripVTControlCharacters(text))) width += grapheme.width;
  return width;
}

/** Returns the width of the widest line. There can be a million lines. */
export function widestLine(lines: readonly string[]): number {
  let width = 0;
  for (const line of lines) width = Math.max(width, cellWidth(line));
  return width;
}

export interface Grapheme {
  readonly text: string;
  readonly width: number;
}

/** Yields the user-perceived characters with their widths. */
export function* graphemes(text: string): Generator<Grapheme> {
  if (isSingleCells(text)) {
    for (const character of text) yield { text: character, width: 1 };
    return;
  }
  for (const { segment } of segmenter.segment(text)) {
    yield { text: segment, width: graphemeWidth(segment) };
  }
}

function graphemeWidth(grapheme: string): number {
  if (isSingleCells(grapheme)) return grapheme.length;
  if (usesLargest) return largestWidth(grapheme);
  if (grapheme.length > maxCachedLength) return measuredWidth(grapheme);
  const found = widthCache.get(grapheme);
  if (found !== undefined) return found;
  if (widthCache.size >= maxCacheSize) widthCache.clear();
  const width = measuredWidth(grapheme);
  widthCache.set(grapheme, width);
  return width;
}

/** Matches letters, marks and digits of which all terminals know the width. */
const knownLetter = /^(?=[\u00a1-\u10ff\u1e00-\u1fff])[\p{L}\p{M}\p{Nd}]$/u;
const largestCache = new Map<string, number>();

/** Returns the largest width of a text. No terminal draws a code point in more than two cells. */
function largestWidth(text: string): number {
  let sum = 0;
  for (const character of text) {
    let width = ascii.test(character) ? 1 : largestCache.get(character);
    if (width === undefined) {
      const known = knownLetter.test(character);
      width = known ? Math.max(1, stringWidth(character, { ambiguousIsNarrow: false })) : 2;
      if (largestCache.size >= maxCacheSize) largestCache.clear();
      largestCache.set(character, width);
    }
    sum += width;
  }
  return sum;
}

/** Matches a single code point, or one Korean syllable, which terminals draw as one character. */
const oneCharacter = /^(?:[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]+|.)$/su;
/**
 * Matches one emoji, which terminals draw as one character. It is undefined until a text contains
 * an emoji of several code points. Creating the pattern takes a tenth of the start time.
 */
let oneEmoji: RegExp | undefined;

/**
 * Measures a character of several code points. Unicode can join any number of Indian consonants,
 * Thai vowels or emoji into one character. Most terminals draw them in separate cells. If the
 * measured width were too small, the line would wrap and move other lines off the screen.
 */
function measuredWidth(grapheme: string): number {
  const width = stringWidth(grapheme);
  if (oneCharacter.test(grapheme) || isEmoji(grapheme)) return width;
  let sum = 0;
  for (const character of grapheme) sum += stringWidth(character);
  return Math.max(width, sum);
}

function isEmoji(grapheme: string): boolean {
  // Every emoji has one of these code points.
  if (!/\p{Emoji_Presentation}|\ufe0f/u.test(grapheme)) return false;
  oneEmoji ??= /^\p{RGI_Emoji}$/v;
  return oneEmoji.test(grapheme);
}

/** Returns the width of the longest part of a line that cannot be broken. */
export function longestWord(line: Line): number {
  let longest = 0;
  for (const { text } of line) {
    for (const [word] of text.matchAll(/[^ \n]+/g)) {
      longest = Math.max(longest, isSingleCells(word) ? word.length : longestNarrowRun(word));
    }
  }
  return longest;
}

/**
 * Returns the width of the longest run of narrow characters, or of one wide character. A line may
 * break before and after a wide character.
 */
function longestNarrowRun(word: string): number {
  let [longest, current] = [0, 0];
  for (const { width } of graphemes(word)) {
    current = width > 1 ? 0 : current + width;
    longest = Math.max(longest, current, width);
  }
  return longest;
}
