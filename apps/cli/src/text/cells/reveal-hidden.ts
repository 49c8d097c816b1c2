import { printableLine } from './printable.ts';

/**
 * Characters that take no cell, change the direction, or join their neighbours. Terminals differ in
 * what they draw for joined pictures: one picture, or all of them. A selector after a picture stays.
 */
const invisible =
  /(?<!\p{Extended_Pictographic})\ufe0f|\u20e3|(?!\ufe0f)[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}\p{Emoji_Modifier}\p{Regional_Indicator}]/gu;
/** Characters that look like a plain space. */
const unusualSpace = /(?! )[\p{Zs}\u2800]/gu;

/**
 * Letters and digits that are written from right to left, with their marks. Some terminals then draw
 * what is between two such words in the opposite order.
 */
const rightToLeft =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}][\p{M}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]*/gu;

/** Marks without a letter that they belong to. */
const loneMarks = /^\p{M}+/u;

/** Words with letters of an alphabet that has look-alikes of Latin letters. */
const mixedWord = /\p{L}[\p{L}\p{M}]*/gu;
const latin = /\p{Script=Latin}/u;
const lookAlike =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/gu;

/** Indentation is common, so a run of spaces at the start of a line can be longer. */
const maxIndentation = 40;
const maxSpaces = 8;
const maxEmptyLines = 2;

/**
 * Shows what a text hides, so that a reader who approves it sees all of it. Control characters
 * become pictures. Invisible characters, unusual spaces, and letters that imitate Latin ones become
 * their code. Words that are written from right to left end in `‹rtl›`, and keep their place in the
 * line. Long runs of spaces and empty lines become their number.
 *
 * @example revealHidden('ls\u202e'); // 'ls‹U+202E›'
 */
export function revealHidden(text: string): string {
  const lines = text.split('\n').map(revealLine);
  return collapseEmptyLines(lines).join('\n');
}

/** Does the same for invisible characters only, because files contain tabs and unusual spaces. */
export function revealInvisible(text: string): string {
  return text.replace(invisible, codeOf);
}

function revealLine(line: string): string {
  const visible = line
    .replaceAll('\t', '⇥')
    .replace(mixedWord, revealLookAlikes)
    .replace(invisible, codeOf)
    .replace(unusualSpace, codeOf)
    .replace(loneMarks, (marks) => [...marks].map(codeOf).join(''))
    // Latin letters after a word end its direction, so that the rest keeps its order.
    .replace(rightToLeft, (word) => `${word}‹rtl›`);
  return revealSpaces(printableLine(visible));
}

function revealLookAlikes(word: string): string {
  return latin.test(word) ? word.replace(lookAlike, codeOf) : word;
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
