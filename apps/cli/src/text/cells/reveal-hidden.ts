import { printableLine } from './printable.ts';

/**
 * Matches characters that have no width or no picture, change the direction, or join their neighbors. Terminals
 * draw joined emoji as one picture or as several. It also matches marks that enclose a character, and the fifth and
 * later marks of a letter, because some terminals draw them over other lines. A variation selector after an emoji does
 * not match.
 */
const invisible =
  /(?<!\p{Extended_Pictographic})\ufe0f|\u20e3|\ufffc|\u{1d159}|\p{Me}|(?<=\p{M}{4})\p{M}|(?!\ufe0f)[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}\p{Emoji_Modifier}\p{Regional_Indicator}]/gu;
/** Matches characters that look like a plain space. */
const unusualSpace = /(?! )[\p{Zs}\u2800]/gu;

/**
 * Matches words that are written from right to left, including digits and marks. Some terminals
 * reverse the order of the text between two of these words.
 */
const rightToLeft =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}][\p{M}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]*/gu;

/** Matches combining marks at the start of a text. They have no base letter. */
const loneMarks = /^\p{M}+/u;

/**
 * Matches a word. A word that mixes Latin letters with letters that look like Latin ones is suspicious. The letter of
 * an escape such as `\n` is no part of the word that follows it in a program.
 */
const mixedWord = /(?<!\\(?=[abfnrtv]))\p{L}[\p{L}\p{M}]*/gu;
const latin = /\p{Script=Latin}/u;
const lookAlike =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/gu;

/** Matches letters and Roman numerals outside of ASCII, except ordinals such as `1º`. */
const otherLetter = /(?![a-zA-Zªº])[\p{L}\p{Nl}]/gu;

/**
 * Maximum number of spaces that are shown at the start of a line. Elsewhere, fewer spaces are
 * shown, because only indentation is usually long.
 */
const maxIndentation = 40;
const maxSpaces = 8;
const maxEmptyLines = 2;

/**
 * Makes hidden content of a text visible, so that a user who approves the text sees all of it.
 * Control characters become pictures. Invisible characters, unusual spaces, and letters that
 * imitate Latin ones become their code. Words that are written from right to left end in `‹rtl›`,
 * so that the rest of the line keeps its order. Long runs of spaces and empty lines become their
 * number.
 *
 * @example revealHidden('ls\u202e'); // 'ls‹U+202E›'
 */
export function revealHidden(text: string): string {
  const lines = text.split('\n').map(revealLine);
  return collapseEmptyLines(lines).join('\n');
}

/**
 * Replaces invisible characters, unusual spaces, and letters that imitate Latin ones within a word with their code.
 * Other characters do not change. Use this for the content of files, where tabs are normal.
 */
export function revealInContent(text: string): string {
  return text
    .replace(mixedWord, revealLookAlikes)
    .replace(invisible, codeOf)
    .replace(unusualSpace, codeOf);
}

function revealLine(line: string): string {
  const visible = line
    .replaceAll('\t', '⇥')
    .replace(otherLetter, revealFont)
    .replace(mixedWord, revealLookAlikes)
    .replace(invisible, codeOf)
    .replace(unusualSpace, codeOf)
    .replace(loneMarks, (marks) => [...marks].map(codeOf).join(''))
    // The Latin letters of `‹rtl›` end the right-to-left direction. So the rest of the line keeps
    // its order.
    .replace(rightToLeft, (word) => `${word}‹rtl›`);
  return revealSpaces(printableLine(visible));
}

function revealLookAlikes(word: string): string {
  return latin.test(word) ? word.replace(lookAlike, codeOf) : word;
}

/** Returns the code of a letter that is only another form of ASCII letters, such as `ⅽ`, `ｃ` and `𝐜`. */
function revealFont(char: string): string {
  return /^[\x21-\x7e]+$/.test(char.normalize('NFKC')) ? codeOf(char) : char;
}

function codeOf(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `‹U+${code}›`;
}

function revealSpaces(line: string): string {
  return line
    .replace(/ {2,}/g, (run, at: number) =>
      run.length > (at === 0 ? maxIndentation : maxSpaces) ? `‹${run.length} spaces›` : run,
    )
    .replace(/ +$/, (run) => (run.length === line.length ? '' : '·'.repeat(run.length)));
}

function collapseEmptyLines(lines: readonly string[]): readonly string[] {
  const kept: string[] = [];
  let empty = 0;
  const endRun = () => {
    if (empty > maxEmptyLines) kept.push(`‹${empty} empty lines›`);
    else for (let at = 0; at < empty; at++) kept.push('');
    empty = 0;
  };
  for (const line of lines) {
    if (line.trim() === '') {
      empty++;
      continue;
    }
    endRun();
    kept.push(line);
  }
  endRun();
  return kept;
}
