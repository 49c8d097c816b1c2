/** A character of a text that a reader would not see, or would take for another one. */
export interface Disguise {
  readonly index: number;
  readonly text: string;
}

/** `disguisesIn` or `disguisesInCall`. */
export type FindDisguises = (text: string) => readonly Disguise[];

/**
 * Finds the characters of a content, such as a file, that a question must show as their code, in the order of the text.
 * These are characters without a picture, spaces other than the plain one, and letters that imitate Latin ones in a
 * word of Latin letters. The result does not contain control characters.
 *
 * @example disguisesIn('a\u200bb'); // [{ index: 1, text: '\u200b' }]
 */
export function disguisesIn(text: string): readonly Disguise[] {
  const found = Array.from(text.matchAll(invisible), ({ 0: one, index }) => ({ index, text: one }));
  for (const { 0: word, index } of text.matchAll(words)) {
    if (!latin.test(word)) continue;
    for (const match of word.matchAll(lookAlike))
      found.push({ index: index + match.index, text: match[0] });
  }
  return found.sort((a, b) => a.index - b.index);
}

/** Matches a letter of a Chinese, Japanese or Korean text. */
export const cjk = '[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}]';

/**
 * Matches characters that have no picture, enclose or join their neighbors, change the direction, or look like a
 * space. An ideographic space stays if it indents a Chinese or Japanese text, or is between two words of it. A
 * variation selector stays after an emoji, and in a key such as `1️⃣`. A mark stays only on a letter: after a space, a low
 * line looks like `_`.
 */
const invisible = /* @__PURE__ */ new RegExp(
  `(?<!\\p{ExtPict}|[\\d#*](?=\\ufe0f\\u20e3))\\ufe0f|(?<!\\p{L}\\p{M}{0,8}(?!\\p{Me})|[\\d#*]\\ufe0f(?=\\u20e3))(?!\\ufe0f)\\p{M}|(?![ \\ufe0f\\p{Cc}]|(?<=^|[\\u3000、。」）！？]|${cjk})\\u3000{1,8}${cjk})[\\p{DI}\\p{C}\\p{Z}\\u2800\\ufffc\\u{1d159}]`,
  'gmu',
);

/**
 * Matches a word. A word that mixes Latin letters with letters that look like Latin ones is suspicious. The letter of
 * an escape such as `\n` is no part of the word that follows it in a program.
 */
const words = /(?<!\\(?=[abfnrtv]))\p{L}[\p{L}\p{M}]*/gu;
const latin = /\p{sc=Latin}/u;
const lookAlike = /[\p{sc=Cyrl}\p{sc=Grek}\p{sc=Armn}\p{sc=Cher}\p{sc=Copt}\p{sc=Lisu}]/gu;
