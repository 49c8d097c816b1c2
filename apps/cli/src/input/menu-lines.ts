import { cellWidth } from '../text/cells/cell-width.ts';
import { clipCells, fitCells } from '../text/cells/clip-cells.ts';
import { clipStart } from './clip-start.ts';
import type { CompletionItem } from './completion.ts';
import type { Menu } from './menu.ts';
import { oneLine } from './one-line.ts';
import { type StyledLine, span } from './styled-line.ts';

/** The completion list around what is selected, a row an item. */
export function menuLines(
  { items, selected }: Menu,
  width: number,
  maxRows: number,
): readonly StyledLine[] {
  const rows = Math.max(0, Math.min(maxRows, items.length));
  const start = Math.max(0, Math.min(selected - Math.floor(rows / 2), items.length - rows));
  const shown = items.slice(start, start + rows);
  const labelWidth = labelColumn(shown, width - 2);
  return shown.map((item, index) => itemLine(item, start + index === selected, labelWidth, width));
}

/** Descriptions get what is left, and at least half of a narrow screen. */
function labelColumn(items: readonly CompletionItem[], room: number): number {
  const widest = Math.max(0, ...items.map(({ label }) => cellWidth(oneLine(label))));
  const isDescribed = items.some(({ description }) => description !== undefined);
  return isDescribed ? Math.min(widest, Math.max(8, Math.floor(room / 2))) : Math.min(widest, room);
}

function itemLine(
  { kind, label, description }: CompletionItem,
  isSelected: boolean,
  labelWidth: number,
  width: number,
): StyledLine {
  const isPath = kind === 'file' || kind === 'folder';
  const clipped = (isPath ? clipStart : clipCells)(oneLine(label), labelWidth);
  const room = width - 2 - labelWidth - 2;
  const mark = isSelected ? span('> ', 'accent') : span('  ');
  const name = isSelected ? 'bold' : 'plain';
  if (description === undefined || room < 4) return [mark, span(clipped, name)];
  const rest = clipCells(oneLine(description), room);
  return [mark, span(fitCells(clipped, labelWidth), name), span('  '), span(rest, 'dim')];
}
