import { graphemes, isSingle } from './cell-width.ts';
import type { Line } from './span.ts';

/** The cells of the longest piece that no line break can be put in. */
export function longestWord(line: Line): number {
  let longest = 0;
  for (const { text } of line) {
    for (const [word] of text.matchAll(/[^ \n]+/g)) {
      longest = Math.max(longest, isSingle(word) ? word.length : longestNarrow(word));
    }
  }
  return longest;
}

/** Around wide characters, lines may break. */
function longestNarrow(word: string): number {
  let [longest, current] = [0, 0];
  for (const { width } of graphemes(word)) {
    current = width > 1 ? 0 : current + width;
    longest = Math.max(longest, current, width);
  }
  return longest;
}
