/** A run of text with one style. */
export interface StyledRun {
  readonly text: string;
  readonly style: TerminalStyle;
}

/**
 * The style of a run. Colors are numbers from 0 to 7: black, red, green, yellow, blue, magenta, cyan
 * and white.
 */
export interface TerminalStyle {
  readonly color?: number | undefined;
  readonly background?: number | undefined;
  readonly isBold?: boolean;
  readonly isDim?: boolean;
  readonly isItalic?: boolean;
  readonly isUnderlined?: boolean;
  readonly isStruck?: boolean;
  readonly isInverse?: boolean;
}

const plain: TerminalStyle = {};

const esc = '\u001b';
const bell = '\u0007';
/** Ends a text for the terminal. */
const end = String.raw`${esc}\\`;

const command = String.raw`\[([0-?]*)[ -/]*([@-~])`;
const title = String.raw`\][^${bell}${esc}]*(?:${bell}|${end})`;
const otherText = `[PX^_][^${esc}]*${end}`;
const short = String.raw`[ -/]*[0-Z\\^-~]`;

/**
 * Matches escape sequences: commands such as a color, texts for the terminal such as its title, and
 * short ones. A sequence that is not complete is not matched.
 */
const sequences = new RegExp(`${esc}(?:${command}|${title}|${otherText}|${short})`, 'g');
const firstSequence = new RegExp(sequences.source);

/** Returns true if a text contains escape sequences or lines that are written over. */
export function isTerminalText(text: string): boolean {
  return firstSequence.test(text) || /\r(?!\n|$)/.test(text);
}

/**
 * Splits the output of a program for terminals into runs with a style. Other escape sequences are
 * removed. A line that was written over, such as a progress bar, is shown as it was at its end. Hidden
 * text is shown, because a page must not hide output.
 */
export function styledRuns(text: string): readonly StyledRun[] {
  const runs: StyledRun[] = [];
  let style = plain;
  let through = 0;
  const add = (piece: string) => {
    if (piece !== '') runs.push({ text: piece, style });
  };
  const lines = withoutOverwritten(text);
  for (const match of lines.matchAll(sequences)) {
    add(lines.slice(through, match.index));
    through = match.index + match[0].length;
    const [, codes, letter] = match;
    if (letter === 'm' && codes !== undefined) style = styleAfter(style, codes);
  }
  add(lines.slice(through));
  return runs;
}

/** Keeps only the last text of each line that was written over. */
function withoutOverwritten(text: string): string {
  if (!text.includes('\r')) return text;
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  return lines.map(lastText).join('\n');
}

function lastText(line: string): string {
  const written = line.split('\r').filter((one) => one !== '');
  return written.at(-1) ?? '';
}

/** Returns the style after a color command, whose codes are separated by `;` or `:`. */
function styleAfter(before: TerminalStyle, codes: string): TerminalStyle {
  let style = before;
  const numbers = codes.split(/[;:]/, maxCodes).map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 38 || code === 48) {
      const { color, length } = extendedColor(numbers.slice(at + 1));
      style = code === 38 ? { ...style, color } : { ...style, background: color };
      at += length;
    } else style = withCode(style, code);
  }
  return style;
}

/** A command with more codes than this is not from a program that prints colors. */
const maxCodes = 64;

/** The changes that codes make to the style. */
const changes: ReadonlyMap<number, TerminalStyle> = new Map([
  [1, { isBold: true }],
  [2, { isDim: true }],
  [3, { isItalic: true }],
  [4, { isUnderlined: true }],
  [7, { isInverse: true }],
  [9, { isStruck: true }],
  [22, { isBold: false, isDim: false }],
  [23, { isItalic: false }],
  [24, { isUnderlined: false }],
  [27, { isInverse: false }],
  [29, { isStruck: false }],
  [39, { color: undefined }],
  [49, { background: undefined }],
]);

function withCode(style: TerminalStyle, code: number): TerminalStyle {
  if (code === 0) return plain;
  if (code >= 30 && code <= 37) return { ...style, color: code - 30 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 90 && code <= 97) return { ...style, color: code - 90 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 100 };
  return { ...style, ...changes.get(code) };
}

interface ExtendedColor {
  readonly color: number | undefined;
  /** The number of codes that the color has. */
  readonly length: number;
}

/** Reads a color of the table of 256 colors, or one with its shares of red, green and blue. */
function extendedColor([form, first = 0, second = 0, third = 0]: readonly number[]): ExtendedColor {
  if (form === 5) return { color: tableColor(first), length: 2 };
  if (form === 2) return { color: nearestColor([first, second, third]), length: 4 };
  return { color: undefined, length: 0 };
}

/** Returns the nearest of the eight colors for a color of the table of 256 colors. */
function tableColor(index: number): number | undefined {
  if (index < 16) return index % 8;
  if (index >= 232) return undefined;
  const cube = index - 16;
  return nearestColor([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(shareOf));
}

const shareOf = (step: number) => step * 51;

/**
 * Returns the nearest of the eight colors. The page has its own values for them, which are readable
 * in both themes. A gray becomes the color of the text.
 */
function nearestColor(shares: readonly number[]): number | undefined {
  const most = Math.max(...shares);
  const least = Math.min(...shares);
  if (most - least < 40) return undefined;
  const middle = (most + least) / 2;
  return shares.reduce((color, share, bit) => (share > middle ? color | (1 << bit) : color), 0);
}
