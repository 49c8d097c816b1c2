import { cellWidth } from '../text/cells/cell-width.ts';
import { clipCells, fitCells } from '../text/cells/clip-text.ts';

export interface TableOptions {
  /** How wide the terminal is; a table for a program or a file is as wide as it is. */
  readonly columns?: number | undefined;
  /** Those whose cells stand to the right, by their number. */
  readonly rightAligned?: readonly number[] | undefined;
}

const gap = '  ';
/** However wide the others are, the last column is worth showing. */
const minLastWidth = 20;

/** Lines whose columns stand below each other. The last column is cut off where the terminal ends. */
export function textTable(
  rows: readonly (readonly string[])[],
  { columns = Number.POSITIVE_INFINITY, rightAligned = [] }: TableOptions = {},
): readonly string[] {
  const count = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const widths = Array.from({ length: count }, (_, at) =>
    rows.reduce((most, row) => Math.max(most, cellWidth(row[at] ?? '')), 0),
  );
  const used = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const last = Math.max(minLastWidth, columns - used);
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        if (rightAligned.includes(at)) return ' '.repeat(width - cellWidth(cell)) + cell;
        if (at < count - 1) return fitCells(cell, width);
        return Number.isFinite(last) ? clipCells(cell, last) : cell;
      })
      .join(gap)
      .trimEnd(),
  );
}
