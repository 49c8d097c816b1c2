/**
 * Matches a character that a terminal would interpret and not show. These are C0 and C1 controls
 * except newline and tab, delete, characters that change the text direction, and line separators.
 */
export const controlCharacter: RegExp =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
const controlCharacters = new RegExp(controlCharacter, 'g');
const lineEnds = /\r\n?/g;

/**
 * Makes text safe for a terminal by replacing control characters with visible ones. All line ends
 * become newlines.
 */
export function printable(text: string): string {
  return controlCharacter.test(text)
    ? printableLine(text.replace(lineEnds, '\n'))
    : text.toWellFormed();
}

/**
 * Makes one line safe for a terminal by replacing control characters, including carriage returns.
 */
export function printableLine(line: string): string {
  return line.toWellFormed().replace(controlCharacters, visibleForm);
}

function visibleForm(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** Returns the text as one line with a maximum number of characters. */
export function oneLine(text: string, length: number): string {
  const start = text
    .slice(0, length * 4)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...printable(start)];
  if (characters.length <= length) return characters.join('');
  return `${characters.slice(0, length - 1).join('')}…`;
}

/**
 * Matches colors, styles, movements of the cursor and titles of the window. It also matches a
 * sequence at the end of the text whose last part has not arrived yet.
 */
const terminalSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences consist of them
  /\u001b(?:\[[0-9:;<=>?]{0,64}[ -/]{0,4}(?:[@-~]|$)|\][^\u0007\u001b]{0,256}(?:\u0007|\u001b\\|$)|$)/g;
/** Matches a sequence at the end of a text that can continue in the next text. */
const openSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences consist of them
  /\u001b(?:\[[0-9:;<=>?]{0,64}[ -/]{0,4}|\][^\u0007\u001b]{0,256}\u001b?)?$/;
/** Matches the part of a line that a program replaced after a carriage return. */
const replacedText = /^.*\r(?=.)/gm;

/**
 * Removes the terminal colors and styles from the output of a program. A line that the program
 * wrote several times, such as a progress bar, keeps only its last text.
 */
export function withoutStyles(text: string): string {
  const plain = withoutSequences(text);
  return plain.includes('\r') ? plain.replaceAll('\r\n', '\n').replace(replacedText, '') : plain;
}

function withoutSequences(text: string): string {
  return text.includes('\u001b') ? text.replace(terminalSequence, '') : text;
}

/**
 * Makes the next output of a program safe for a terminal that another program draws. Only line breaks, tabs and carriage
 * returns still have an effect. `held` is the start of an unfinished sequence, which belongs before the next output.
 *
 * @example printableOutput('a\u001b[3'); // { text: 'a', held: '\u001b[3' }
 */
export function printableOutput(output: string): { readonly text: string; readonly held: string } {
  const held = openSequence.exec(output)?.[0] ?? '';
  const complete = withoutSequences(output.slice(0, output.length - held.length));
  return { text: complete.split('\r').map(printable).join('\r'), held };
}

const tabStop = 4;

/** Replaces tabs with spaces, because the width of a tab depends on its column. */
export function expandTabs(text: string): string {
  return text.includes('\t') ? text.split('\n').map(expandLine).join('\n') : text;
}

function expandLine(line: string): string {
  const [first = '', ...rest] = line.split('\t');
  return rest.reduce(
    (before, piece) => before + ' '.repeat(tabStop - (before.length % tabStop)) + piece,
    first,
  );
}
