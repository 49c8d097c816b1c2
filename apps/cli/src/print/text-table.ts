import { cellWidth } from '../text/cells/cell-width.ts';
import { clipCells, fitCells } from '../text/cells/clip-text.ts';

export interface TableOptions {
  /** The width of the terminal. Default: unlimited, for files and programs. */
  readonly columns?: number | undefined;
  /** The indexes of right-aligned columns. */
  readonly rightAligned?: readonly number[] | undefined;
  /**
   * The indexes of columns that a narrow terminal does not show. The first one is omitted first. With this
   * option, no line is wider than the terminal. Default: none.
   */
  readonly optional?: readonly number[] | undefined;
}

const gap = '  ';
/** Minimum width of the last column. */
const minLastWidth = 20;

/**
 * Formats rows as aligned columns. If a row is wider than the terminal, optional columns are omitted and the
 * last column is shortened.
 */
export function textTable(
  rows: readonly (readonly string[])[],
  { columns = Number.POSITIVE_INFINITY, rightAligned = [], optional }: TableOptions = {},
): readonly string[] {
  const count = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const widths = Array.from({ length: count }, (_, at) =>
    rows.reduce((most, row) => Math.max(most, cellWidth(row[at] ?? '')), 0),
  );
  const isShown = shownColumns(widths, columns, optional ?? []);
  const last = Math.max(minLastWidth, columns - usedCells(widths, isShown));
  return rows.map((row) => {
    const line = row
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        if (rightAligned.includes(at)) return ' '.repeat(width - cellWidth(cell)) + cell;
        if (at < count - 1) return fitCells(cell, width);
        return Number.isFinite(last) ? clipCells(cell, last) : cell;
      })
      .filter((_, at) => isShown[at])
      .join(gap)
      .trimEnd();
    return optional === undefined ? line : clipCells(line, columns);
  });
}

/** Omits optional columns until the last column has enough space. */
function shownColumns(
  widths: readonly number[],
  columns: number,
  optional: readonly number[],
): readonly boolean[] {
  const isShown = widths.map(() => true);
  const lastWidth = Math.min(minLastWidth, widths.at(-1) ?? 0);
  for (const at of optional) {
    if (usedCells(widths, isShown) + lastWidth <= columns) break;
    isShown[at] = false;
  }
  return isShown;
}

/** Returns the width of the shown columns before the last one. */
function usedCells(widths: readonly number[], isShown: readonly boolean[]): number {
  return widths
    .slice(0, -1)
    .reduce((sum, width, at) => sum + (isShown[at] === true ? width + gap.length : 0), 0);
}

/** Returns a count with its noun: `1 session`, `2 sessions`. */
export function countOf(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
