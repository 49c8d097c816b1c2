import { cjk, type Disguise, disguisesIn } from './disguises.ts';

/**
 * Finds the characters of the arguments of a call, such as a command or a path, that a question must show as their
 * code. These are the characters that `disguisesIn` finds, all signs outside of ASCII, such as quotation marks and
 * dashes, all characters that are only another form of ASCII characters, and marks on a letter of another script, which
 * can look like a sign beside it. The closed list `harmless` stays, and the punctuation of a language that uses another script stays
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
  `(?!${harmless}|${inText}|${afterOther}(?:${ownPunctuation}|[–—])|(?<=\\s)[–—](?=\\s))(?!\\p{Cc})[^\\0-\\x7f\\p{L}\\p{M}\\p{N}\\p{Z}]|(?![${repetitions}ーｰﾞﾟๆໆ]|(?<=\\p{sc=Arab}[ـ\\u064b-\\u0655\\u0670]{0,8})ـ)\\p{Lm}|[Ꞌꞌꞏꟷǀǁǂǃ᐀ᐳᐸᑊᚲᛌ丨丶丿〡〢ㅡㅣ\\u0332-\\u0338\\u{16f51}\\u{16f52}\\u{11d46}]|(?<![\\p{scx=Hira}\\p{scx=Kana}])[ーｰﾞﾟ]+|(?<!${cjk})(?:[一ノ${repetitions}]+(?!${cjk})|[${repetitions}]+)|${syllableEnds}|${alone('Tfng', 'ⵏⵑⵧ')}|${alone('Runr', 'ᛁ')}|${alone('Nkoo', 'ߊ')}`,
  'gu',
);

/** Matches a letter with its marks. */
const markedLetters = /\p{L}\p{M}+/gu;

/** Matches a mark that is drawn in the middle above or below a letter, and that looks like no sign of a shell. */
const accents = /^[\u0300-\u0304\u0306-\u030c\u030f\u0311\u0323-\u0325\u032d\u0330\u0331]$/;

/**
 * The scripts whose marks stay on their own letters. Latin, Greek and Cyrillic texts need only accents and marks that
 * are a part of a letter. Marks of older scripts can look like an apostrophe, as U+0486 of old Cyrillic texts does.
 */
const markedScripts = [
  ...['Adlm', 'Arab', 'Bali', 'Batk', 'Beng', 'Bugi', 'Cakm', 'Cham', 'Deva', 'Ethi', 'Gujr'],
  ...['Guru', 'Hano', 'Hebr', 'Java', 'Kali', 'Khmr', 'Knda', 'Lana', 'Laoo', 'Lepc', 'Limb'],
  ...['Mand', 'Mlym', 'Mong', 'Mtei', 'Mymr', 'Nkoo', 'Orya', 'Rjng', 'Samr', 'Saur', 'Sinh'],
  ...['Sund', 'Sylo', 'Syrc', 'Tagb', 'Tale', 'Talu', 'Taml', 'Tavt', 'Telu', 'Tfng', 'Thaa'],
  ...['Thai', 'Tibt', 'Tglg'],
];

/** Matches a letter and a mark of its script. Unicode gives the vowel signs of Arabic no script of their own. */
const ownMark = /* @__PURE__ */ new RegExp(
  `^(?:${markedScripts.map((name) => `\\p{sc=${name}}{2}`).join('|')}|[\\p{sc=Arab}\\p{sc=Syrc}ـ][\\p{sc=Arab}\\u064b-\\u0655\\u0670])$`,
  'u',
);

/**
 * Returns the marks of a letter, except accents, marks of the script of the letter, and marks that are a part of the
 * letter in Unicode, such as the horn of `ơ` and the cedilla of `ç`.
 */
function oddMarksOf(text: string, index: number): readonly Disguise[] {
  const found: Disguise[] = [];
  const [letter = ''] = text;
  let base = '';
  let at = index;
  for (const one of text) {
    const joined = (base + one).normalize('NFC');
    if (base === '' || [...joined].length === 1) base = joined;
    else if (!accents.test(one) && !ownMark.test(letter + one))
      found.push({ index: at, text: one });
    at += one.length;
  }
  return found;
}

/** Matches characters that can be another form of ASCII characters. */
const otherForms = /* @__PURE__ */ new RegExp(
  `(?![ªº¹²³¼-¾…™№℃①-⑳]|${inText})[^\\0-\\x7f\\u3400-\\u9fff\\uac00-\\ud7a3]`,
  'gu',
);
