import { cjk, type Disguise, disguisesIn } from './disguises.ts';

/**
 * Finds the characters of the arguments of a call, such as a command or a path, that a question must show as their
 * code. These are the characters that `disguisesIn` finds, all signs outside of ASCII, such as quotation marks and
 * dashes, all characters that are only another form of ASCII characters, and marks on a letter that can look like a
 * sign beside it. The closed list `harmless` stays, and the punctuation of a language that uses another script stays
 * after its letters. The result does not contain control characters.
 *
 * @example disguisesInCall('ls \u2010l'); // [{ index: 3, text: '\u2010' }]
 */
export function disguisesInCall(text: string): readonly Disguise[] {
  const found = new Map(disguisesIn(text).map((one) => [one.index, one]));
  for (const { 0: sign, index } of text.matchAll(signs)) {
    let at = index;
    for (const one of sign) {
      found.set(at, { index: at, text: one });
      at += one.length;
    }
  }
  for (const { 0: one, index } of text.matchAll(otherForms))
    if (/[!-~]/.test(one.normalize('NFKC'))) found.set(index, { index, text: one });
  for (const { 0: letter, index } of text.matchAll(markedLetters))
    for (const one of oddMarksOf(letter, index)) found.set(one.index, one);
  return [...found.values()].sort((a, b) => a.index - b.index);
}

/** Fullwidth signs that stay beside a letter of a Chinese, Japanese or Korean text. None of them starts or ends a quote, a comment or a command. */
const fullwidth = '[，：！？（）]';
const inText = `(?:(?<=${cjk}${fullwidth}?)${fullwidth}|${fullwidth}(?=${cjk}))`;
/** Characters that look like no sign of a shell. The emoji plus, minus and wave do. */
const harmless =
  '(?![\\u2795\\u2796\\u3030])[\\p{Sc}\\p{ExtPict}\\p{EMod}\\p{RI}§¬°±¶·¿¡×÷…•←-↔⇐-⇔≈≠≤≥●○■□✓✗™№℃、。《》「」『』【】・]';
/** The place after a letter of a script other than Latin, its marks, and one sign. */
const afterOther = '(?<=(?![\\p{sc=Latin}\\p{Lm}])\\p{L}\\p{M}{0,4}\\p{P}?)';
/** Punctuation that belongs to a script, except marks of Chinese and Japanese that look like quotation marks and dashes. */
const ownPunctuation = '(?![\\p{scx=Zyyy}\\p{Pi}\\p{Pf}〃〝-〟゠])\\p{P}';

/** Marks that repeat a letter before them. Without such a letter, they look like quotation marks and slashes. */
const repetitions = 'ヽヾゝゞ々〻';
/** Matches letters that look like signs, unless they are beside a letter of their script. */
const alone = (script: string, letters: string) =>
  `(?<!\\p{sc=${script}})[${letters}]+(?!\\p{sc=${script}})`;
/** Small letters that end a syllable and look like quotation marks, dashes and dots. They stay after a letter. */
const syllableEnds = '(?<!\\p{sc=Cans})[\u141d-\u142f\u144b\u1540\u1541\u157d]+';

/** Matches signs outside of ASCII, and letters that look like signs: `ꞌ`, `ǃ`, `丨`, most modifier letters, and lines through letters. */
const signs = /* @__PURE__ */ new RegExp(
  `(?!${harmless}|${inText}|${afterOther}(?:${ownPunctuation}|[–—])|(?<=\\s)[–—](?=\\s))(?!\\p{Cc})[^\\0-\\x7f\\p{L}\\p{M}\\p{N}\\p{Z}]|(?![${repetitions}ーｰﾞﾟๆໆ]|(?<=\\p{sc=Arab}ـ{0,8})ـ)\\p{Lm}|[Ꞌꞌꞏꟷǀǁǂǃ᐀ᐳᐸᑊᚲᛌ丨丶丿〡〢ㅡㅣ\\u0332-\\u0338\\u{16f51}\\u{16f52}\\u{11d46}]|(?<![\\p{scx=Hira}\\p{scx=Kana}])[ーｰﾞﾟ]+|(?<!${cjk})(?:[一ノ${repetitions}]+(?!${cjk})|[${repetitions}]+)|${syllableEnds}|${alone('Tfng', 'ⵏⵑⵧ')}|${alone('Runr', 'ᛁ')}|${alone('Nkoo', 'ߊ')}`,
  'gu',
);

/** Marks that no script has for itself. Some look like an apostrophe, a quotation mark or a slash beside a letter. */
const commonMarks = '\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f';

/** Matches a letter with its marks, if one of them is a common mark. */
const markedLetters = /* @__PURE__ */ new RegExp(`\\p{L}\\p{M}*?[${commonMarks}]\\p{M}*`, 'gu');

/** Matches a common mark that is drawn in the middle above or below a letter, and that looks like no sign of a shell. */
const accents = /^[\u0300-\u0304\u0306-\u030c\u030f\u0311\u0323-\u0325\u032d\u0330\u0331]$/;
const common = /* @__PURE__ */ new RegExp(`[${commonMarks}]`, 'u');

/**
 * Returns the common marks of a letter, except accents and marks that are a part of the letter in Unicode, such as the
 * horn of `ơ` and the cedilla of `ç`.
 */
function oddMarksOf(letter: string, index: number): readonly Disguise[] {
  const found: Disguise[] = [];
  let base = '';
  let at = index;
  for (const one of letter) {
    const joined = (base + one).normalize('NFC');
    if (base === '' || [...joined].length === 1) base = joined;
    else if (common.test(one) && !accents.test(one)) found.push({ index: at, text: one });
    at += one.length;
  }
  return found;
}

/** Matches characters that can be another form of ASCII characters. */
const otherForms = /* @__PURE__ */ new RegExp(
  `(?![ªº¹²³¼-¾…™№℃①-⑳]|${inText})[^\\0-\\x7f\\u3400-\\u9fff\\uac00-\\ud7a3]`,
  'gu',
);
