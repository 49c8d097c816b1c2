import { cellWidth, graphemes } from '../text/cells/cell-width.ts';

/** At most so many cells of the end: of a path, that is what tells it from others. */
export function clipStart(text: string, cells: number): string {
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
