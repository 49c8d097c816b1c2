import { cellWidth } from '../text/cells/cell-width.ts';
import { clipCells, fitCells } from '../text/cells/clip-text.ts';

export interface TableOptions {
  /** The width of the terminal. Default: unlimited, for files and programs. */
  readonly columns?: number | undefined;
  /** The indexes of right-aligned columns. */
  readonly rightAligned?: readonly number[] | undefined;
}

const gap = '  ';
/** Minimum width of the last column. */
const minLastWidth = 20;

/**
 * Formats rows as aligned columns. If a row is wider than the terminal, its last column is
 * shortened.
 */
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

/** Returns a count with its noun: `1 session`, `2 sessions`. */
export function countOf(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
