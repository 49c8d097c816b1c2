import { clipCells } from '../text/cells/clip-cells.ts';
import type { Menu } from './menu.ts';
import { oneLine } from './one-line.ts';

/** The longest that fits is shown. */
const whileIdle = ['Enter sends, Alt-Enter adds a line', 'Enter sends'];
const whileBusy = [
  'Enter steers, Alt-Enter queues, Esc stops',
  'Enter steers, Esc stops',
  'Esc stops',
];
const whileChoosing = ['Tab completes, Up and Down choose, Esc closes', 'Tab completes'];

export interface HintOptions {
  readonly notice: string | undefined;
  readonly hint: string | undefined;
  readonly menu: Menu | undefined;
  readonly isBusy: boolean;
  readonly width: number;
}

/** What the keys do now, or why the last one did not; '' for nothing. */
export function hintText({ notice, hint, menu, isBusy, width }: HintOptions): string {
  if (notice !== undefined) return clipCells(oneLine(notice), width);
  if (menu !== undefined) {
    const count = ` (${menu.selected + 1} of ${menu.items.length})`;
    return fitting([...whileChoosing.map((text) => text + count), ...whileChoosing], width);
  }
  if (hint !== undefined) return clipCells(oneLine(hint), width);
  return fitting(isBusy ? whileBusy : whileIdle, width);
}

function fitting(texts: readonly string[], width: number): string {
  return texts.find(({ length }) => length <= width) ?? clipCells(texts.at(-1) ?? '', width);
}
