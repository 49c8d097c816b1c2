import { cellWidth, graphemes } from '../../text/cells/cell-width.ts';
import { clipCells, fitCells } from '../../text/cells/clip-text.ts';
import type { CompletionItem, Menu } from '../completion/completion.ts';
import { type StyledLine, singleLine, span } from './styled-line.ts';

/** Draws the part of the completion list around the selected item, one row per item. */
export function menuLines(
  { items, selected }: Menu,
  width: number,
  maxRows: number,
): readonly StyledLine[] {
  const rows = Math.max(0, Math.min(maxRows, items.length));
  const start = Math.max(0, Math.min(selected - Math.floor(rows / 2), items.length - rows));
  const shown = items.slice(start, start + rows);
  const labelWidth = labelWidthOf(shown, width - 2);
  return shown.map((item, index) => itemLine(item, start + index === selected, labelWidth, width));
}

/**
 * Returns the width of the label column. At least half of the width is for descriptions, except on
 * a very narrow screen.
 */
function labelWidthOf(items: readonly CompletionItem[], room: number): number {
  const widest = Math.max(0, ...items.map(({ label }) => cellWidth(singleLine(label))));
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
  const clipped = (isPath ? clipStart : clipCells)(singleLine(label), labelWidth);
  const room = width - 2 - labelWidth - 2;
  const mark = isSelected ? span('> ', 'accent') : span('  ');
  const name = isSelected ? 'bold' : 'plain';
  if (description === undefined || room < 4) return [mark, span(clipped, name)];
  const rest = clipCells(singleLine(description), room);
  return [mark, span(fitCells(clipped, labelWidth), name), span('  '), span(rest, 'dim')];
}

/** The hints while no run is in progress. The prompt shows the first one that fits. */
const whileIdle = ['Enter sends, Alt-Enter adds a line', 'Enter sends'];
const whileBusy = [
  'Enter steers, Alt-Enter queues, Esc stops',
  'Enter steers, Esc stops',
  'Esc stops',
];
const whileChoosing = ['Tab completes, Up and Down choose, Esc closes', 'Tab completes'];

interface HintOptions {
  readonly notice: string | undefined;
  readonly hint: string | undefined;
  readonly menu: Menu | undefined;
  readonly isBusy: boolean;
  readonly width: number;
}

/**
 * Returns the hint below the prompt. It tells why the last key had no effect, or what the keys do.
 * An empty text shows no hint.
 */
export function hintText({ notice, hint, menu, isBusy, width }: HintOptions): string {
  if (notice !== undefined) return clipCells(singleLine(notice), width);
  if (menu !== undefined) {
    const count = ` (${menu.selected + 1} of ${menu.items.length})`;
    return firstFitting([...whileChoosing.map((text) => text + count), ...whileChoosing], width);
  }
  if (hint !== undefined) return clipCells(singleLine(hint), width);
  return firstFitting(isBusy ? whileBusy : whileIdle, width);
}

function firstFitting(texts: readonly string[], width: number): string {
  return texts.find(({ length }) => length <= width) ?? clipCells(texts.at(-1) ?? '', width);
}

/** Removes the start of a text that is too long, because paths differ most at their end. */
function clipStart(text: string, cells: number): string {
  if (cellWidth(text) <= cells) return text;
  let used = 1;
  const end: string[] = [];
  for (const { text: next, width } of [...graphemes(text)].toReversed()) {
    used += width;
    if (used > cells) break;
    end.push(next);
  }
  return cells > 0 ? `…${end.toReversed().join('')}` : '';
}
