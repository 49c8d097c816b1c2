import { cellWidth } from '../../text/cells/cell-width.ts';
import { clipCells, wrapCells } from '../../text/cells/clip-text.ts';
import { expandTabs, printable, printableLine } from '../../text/cells/printable.ts';
import { escapeCodes, type Style } from '../../text/theme/style.ts';
import type { Role, Theme } from '../../text/theme/theme.ts';
import type { Tone } from '../contract/block.ts';

/** The settings for drawing text: the width, the colors, and whether reasoning is shown. */
export interface Look {
  readonly width: number;
  readonly theme: Theme;
  /** True if reasoning is shown in full. */
  readonly showsReasoning: boolean;
  /** True if words replace the signs before lines, because a screen reader reads them. Default: false. */
  readonly isPlain?: boolean | undefined;
  /** True if the terminal shows only ASCII, so a question shows other characters as codes. Default: false. */
  readonly isAscii?: boolean | undefined;
}

/** Maps a tone to a role that every theme has. */
const roleOfTone: { readonly [T in Exclude<Tone, 'plain'>]: Role } = {
  dim: 'muted',
  good: 'added',
  bad: 'removed',
  mark: 'number',
};

export function withTone({ theme }: Look, tone: Tone, text: string): string {
  return tone === 'plain' ? text : withStyle(theme.styles[roleOfTone[tone]], text);
}

export function withRole({ theme }: Look, role: Role, text: string): string {
  return withStyle(theme.styles[role], text);
}

function withStyle(style: Style, text: string): string {
  const { on, off } = escapeCodes(style);
  return text === '' ? '' : `${on}${text}${off}`;
}

/**
 * Wraps untrusted text into lines and adds the margin to each line. Words are not split if they
 * fit.
 */
export function wrapText(look: Look, text: string, margin = ''): readonly string[] {
  const width = Math.max(1, look.width - cellWidth(margin));
  return printable(text)
    .split('\n')
    .flatMap((line) => wrapCells(expandTabs(line), width))
    .map((line) => margin + line);
}

/**
 * Matches a line break with the spaces around it. A match can start only at the first space, so the
 * search time is linear.
 */
const lineBreak = /(?<!\s)\s*\n\s*/g;

/** Clips untrusted text to one line of the given width. */
export function clipText(text: string, cells: number): string {
  const line = printableLine(text.replace(lineBreak, ' ⏎ '));
  return clipCells(expandTabs(line), Math.max(1, cells));
}

/**
 * Shortens each untrusted line to the width. Lines are not wrapped, so that the output of programs
 * keeps its form.
 */
export function clipEach(look: Look, lines: readonly string[], margin: string): readonly string[] {
  const width = Math.max(1, look.width - cellWidth(margin));
  return lines.map((line) => margin + clipCells(expandTabs(printableLine(line)), width));
}

/** Shortens lines that this program has drawn to the width of the terminal. */
export function fitLines({ width }: Look, lines: readonly string[]): readonly string[] {
  return lines.map((line) =>
    cellWidth(line) > width ? clipCells(line, Math.max(1, width)) : line,
  );
}

/**
 * Removes the start of untrusted text that is too long. The end of a path is its most important
 * part.
 */
export function clipTextStart(text: string, cells: number): string {
  const line = expandTabs(printableLine(text.replace(lineBreak, ' ⏎ ')));
  if (cellWidth(line) <= cells) return line;
  const characters = [...line];
  while (
    characters.length > 0 &&
    cellWidth(characters.join('')) > Math.max(0, cells - cellWidth('…'))
  )
    characters.splice(0, Math.max(1, Math.ceil((characters.length - cells) / 2)));
  return `…${characters.join('')}`;
}
