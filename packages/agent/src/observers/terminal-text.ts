// What a terminal would obey instead of show: C0 and C1 but newline and tab, and delete.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** What changes the order in which a line is read, so that it seems to say something else. */
const reorderings = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const breaks = /[\n\t\u2028\u2029]+/g;
const zeroWidth = /^[\p{M}\u200b-\u200d]$/u;
const doubleWidth =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

/** Text as a terminal may have it: what would control it is shown, or is not there. */
export function printable(text: string): string {
  return text.replace(controls, picture);
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  // It only ever goes with a newline, or would have the line written over.
  if (control === '\r') return '';
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** Text that fits into one line of so many columns. */
export function oneLine(text: string, columns: number): string {
  // Far more than fits, so that the cut below is where it shows.
  const start = text.slice(0, columns * 8).replace(breaks, ' ');
  const shown = printable(start.replace(reorderings, '\ufffd')).trim().toWellFormed();
  return clip(shown, columns);
}

function clip(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  /** Where the mark of the cut has room. */
  let lastRoom = 0;
  for (const char of text) {
    width += widthOf(char);
    if (width > columns) return `${text.slice(0, lastRoom)}…`;
    end += char.length;
    if (width < columns) lastRoom = end;
  }
  return text;
}

function widthOf(char: string): number {
  if (zeroWidth.test(char)) return 0;
  return doubleWidth.test(char) ? 2 : 1;
}

export type Tone = 'plain' | 'dim' | 'good' | 'bad' | 'mark';

const codes: { readonly [T in Tone]: readonly [string, string] } = {
  plain: ['', ''],
  dim: ['\u001b[2m', '\u001b[22m'],
  good: ['\u001b[32m', '\u001b[39m'],
  bad: ['\u001b[31m', '\u001b[39m'],
  mark: ['\u001b[33m', '\u001b[39m'],
};

export type Paint = (tone: Tone, text: string) => string;

export const withColor: Paint = (tone, text) => {
  const [on, off] = codes[tone];
  return `${on}${text}${off}`;
};

export const withoutColor: Paint = (_tone, text) => text;
