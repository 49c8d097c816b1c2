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
/** The sequence that ends a string for the terminal, such as a window title. */
const end = String.raw`${esc}\\`;

const command = String.raw`\[([0-?]*)[ -/]*([@-~])`;
const title = String.raw`\][^${bell}${esc}]*(?:${bell}|${end})`;
const otherText = `[PX^_][^${esc}]*${end}`;
const short = String.raw`[ -/]*[0-Z\\^-~]`;

/**
 * Matches escape sequences: commands such as a color, strings such as the window title, and short
 * sequences. An incomplete sequence does not match.
 */
const sequences = new RegExp(`${esc}(?:${command}|${title}|${otherText}|${short})`, 'g');
const firstSequence = new RegExp(sequences.source);

/** Returns true if a text contains escape sequences or overwritten lines. */
export function isTerminalText(text: string): boolean {
  return firstSequence.test(text) || /\r(?!\n|$)/.test(text);
}

/**
 * Splits terminal output into runs with one style each. Escape sequences that set no style are
 * removed. If a program overwrote a line, such as a progress bar, only its last content is
 * returned. Text with the style "hidden" stays visible, because the page must not hide output.
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

/**
 * Returns each line with only its last content. A carriage return overwrites the content before it.
 */
function withoutOverwritten(text: string): string {
  if (!text.includes('\r')) return text;
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  return lines.map(lastText).join('\n');
}

function lastText(line: string): string {
  const written = line.split('\r').filter((one) => one !== '');
  return written.at(-1) ?? '';
}

/** Returns the style after a color command. Its codes are separated by `;` or `:`. */
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

/** Maximum number of style codes in one escape sequence. Usual programs need fewer. */
const maxCodes = 64;

/** The change of the style for each code. */
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
  /** The number of codes that the color uses. */
  readonly length: number;
}

/**
 * Reads an extended color: an index into the table of 256 colors, or values for red, green and
 * blue.
 */
function extendedColor([form, first = 0, second = 0, third = 0]: readonly number[]): ExtendedColor {
  if (form === 5) return { color: tableColor(first), length: 2 };
  if (form === 2) return { color: nearestColor([first, second, third]), length: 4 };
  return { color: undefined, length: 0 };
}

/** Converts a color of the 256-color table to the nearest of the eight colors. */
function tableColor(index: number): number | undefined {
  if (index < 16) return index % 8;
  if (index >= 232) return undefined;
  const cube = index - 16;
  return nearestColor([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(shareOf));
}

const shareOf = (step: number) => step * 51;

/**
 * Returns the nearest of the eight colors. The page defines these colors so that they are readable
 * in both themes. For a gray, it returns undefined, which means the normal text color.
 */
function nearestColor(shares: readonly number[]): number | undefined {
  const most = Math.max(...shares);
  const least = Math.min(...shares);
  if (most - least < 40) return undefined;
  const middle = (most + least) / 2;
  return shares.reduce((color, share, bit) => (share > middle ? color | (1 << bit) : color), 0);
}
