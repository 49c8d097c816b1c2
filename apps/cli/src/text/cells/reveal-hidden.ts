import { disguisesIn, disguisesInCall, type FindDisguises } from '@millrace/core';
import { printableLine } from './printable.ts';

/**
 * Matches characters that terminals draw in different ways: parts of joined emoji and of flags, keys such as `1️⃣`, and
 * the fifth and later marks of a letter, which some terminals draw over other lines.
 */
const unevenlyDrawn =
  /\p{Emoji_Modifier}|\p{Regional_Indicator}|\u20e3|(?<=[\d#*])\ufe0f|(?<=\p{M}{4})\p{M}/gu;

/**
 * Matches words that are written from right to left, including digits and marks. Some terminals
 * reverse the order of the text between two of these words.
 */
const rightToLeft =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}][\p{M}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]*/gu;

/**
 * Maximum number of spaces that are shown at the start of a line. Elsewhere, fewer spaces are
 * shown, because only indentation is usually long.
 */
const maxIndentation = 40;
const maxSpaces = 8;
const maxEmptyLines = 2;

/**
 * Makes hidden content of a text visible, so that a user who approves the text sees all of it. Control characters become
 * pictures. Other characters that `disguisesInCall` finds become their code. Words that are written from right to left end
 * in `‹rtl›`, so that the rest of the line keeps its order. Long runs of spaces and empty lines become their number.
 *
 * @example revealHidden('ls\u202e'); // 'ls‹U+202E›'
 */
export function revealHidden(text: string): string {
  return visibleLines(withCodes(text, disguisesInCall));
}

/** Makes hidden content of a question of the model visible. Quotation marks and other signs of the text stay. */
export function revealInProse(text: string): string {
  return visibleLines(withCodes(text, disguisesIn));
}

/**
 * Replaces only characters that `disguisesIn` finds. Use this for the content of files, where tabs are
 * normal.
 */
export function revealInContent(text: string): string {
  return withCodes(text, disguisesIn);
}

/**
 * Replaces the characters that `revealInContent` replaces, and all control characters except tabs and line breaks. Use
 * this for a content that another program draws, because some programs draw U+0085 or a carriage return as a line break.
 */
export function revealInLines(text: string): string {
  return revealInContent(text).replace(strayControl, codeOf);
}

const strayControl = /(?![\t\n]|\r\n)\p{Cc}/gu;

function withCodes(text: string, find: FindDisguises): string {
  let shown = '';
  let through = 0;
  for (const { index, text: one } of find(text)) {
    shown += text.slice(through, index) + codeOf(one);
    through = index + one.length;
  }
  return (shown + text.slice(through)).replace(unevenlyDrawn, codeOf);
}

function visibleLines(text: string): string {
  return collapseEmptyLines(text.split('\n').map(revealLine)).join('\n');
}

function revealLine(line: string): string {
  const visible = line
    .replaceAll('\t', '⇥')
    // The Latin letters of `‹rtl›` end the right-to-left direction. So the rest of the line keeps
    // its order.
    .replace(rightToLeft, (word) => `${word}‹rtl›`);
  return revealSpaces(printableLine(visible));
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
