import { cellWidth } from '../../text/cells/cell-width.ts';
import { clipCells, wrapCells } from '../../text/cells/clip-text.ts';
import { expandTabs, printable, printableLine } from '../../text/cells/printable.ts';
import { type Style, switchesOf } from '../../text/theme/style.ts';
import type { Role, Theme } from '../../text/theme/theme.ts';
import type { Tone } from '../contract/block.ts';

/** What text is drawn for: how wide, and with which colours. */
export interface Look {
  readonly width: number;
  readonly theme: Theme;
  /** What the model thinks is shown in full. */
  readonly isUnfolded: boolean;
}

/** What a tone looks like: the roles that every theme has. */
const roles: { readonly [T in Exclude<Tone, 'plain'>]: Role } = {
  dim: 'muted',
  good: 'added',
  bad: 'removed',
  mark: 'number',
};

export function inTone({ theme }: Look, tone: Tone, text: string): string {
  return tone === 'plain' ? text : inStyle(theme.styles[roles[tone]], text);
}

export function inRole({ theme }: Look, role: Role, text: string): string {
  return inStyle(theme.styles[role], text);
}

function inStyle(style: Style, text: string): string {
  const { on, off } = switchesOf(style);
  return text === '' ? '' : `${on}${text}${off}`;
}

/** Text of anybody, as lines that fit, each after the margin. Words are kept whole where they can be. */
export function wrapped(look: Look, text: string, margin = ''): readonly string[] {
  const width = Math.max(1, look.width - cellWidth(margin));
  return printable(text)
    .split('\n')
    .flatMap((line) => wrapCells(expandTabs(line), width))
    .map((line) => margin + line);
}

/** One line of anybody's text, clipped to what is left of the width. */
export function clipped(text: string, cells: number): string {
  const line = printableLine(text.replace(/\s*\n\s*/g, ' ⏎ '));
  return clipCells(expandTabs(line), Math.max(1, cells));
}

/** Lines of anybody's text, each clipped, not wrapped: output of programs keeps its shape. */
export function clippedLines(
  look: Look,
  lines: readonly string[],
  margin: string,
): readonly string[] {
  const width = Math.max(1, look.width - cellWidth(margin));
  return lines.map((line) => margin + clipCells(expandTabs(printableLine(line)), width));
}

/** Lines of our own that fit, whatever the width is. */
export function fitted({ width }: Look, lines: readonly string[]): readonly string[] {
  return lines.map((line) =>
    cellWidth(line) > width ? clipCells(line, Math.max(1, width)) : line,
  );
}

/** The end of a line of anybody's text: of a path, the end says most. */
export function clippedStart(text: string, cells: number): string {
  const line = expandTabs(printableLine(text.replace(/\s*\n\s*/g, ' ⏎ ')));
  if (cellWidth(line) <= cells) return line;
  const characters = [...line];
  while (characters.length > 0 && cellWidth(characters.join('')) >= Math.max(1, cells))
    characters.splice(0, Math.max(1, Math.ceil((characters.length - cells) / 2)));
  return `…${characters.join('')}`;
}
