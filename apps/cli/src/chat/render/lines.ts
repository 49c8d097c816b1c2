import { cellWidth } from '../../text/cells/cell-width.ts';
import { clipCells } from '../../text/cells/clip-cells.ts';
import { expandTabs } from '../../text/cells/expand-tabs.ts';
import { printable, printableLine } from '../../text/cells/printable.ts';
import { wrapCells } from '../../text/cells/wrap-cells.ts';
import type { Look } from './look.ts';

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
