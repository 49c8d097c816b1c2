import type { Content } from './editor-state.ts';
import { columnOf, cursorRow, type Row, rowsAt, rowsBeside } from './rows.ts';

/** The rows of the text that are shown, and where the cursor is in them. */
export interface VisibleRows {
  readonly rows: readonly Row[];
  readonly cursor: { readonly row: number; readonly column: number };
  readonly isCutAbove: boolean;
  readonly isCutBelow: boolean;
}

/** The rows around the cursor. Lines far from it are not looked at, however long the text is. */
export function visibleRows(content: Content, width: number, maxRows: number): VisibleRows {
  const line = rowsAt(content, content.cursor, width);
  const here = cursorRow(line, content.cursor);
  const above = rowsFrom(content, 'up', line.slice(0, here), width, maxRows);
  const below = rowsFrom(content, 'down', line.slice(here + 1), width, maxRows);
  const room = Math.max(1, maxRows) - 1;
  const half = Math.min(above.length, Math.floor(room / 2));
  const after = Math.min(below.length, room - half);
  const before = Math.min(above.length, room - after);
  const row = line[here];
  return {
    rows: [
      ...above.slice(above.length - before),
      ...(row === undefined ? [] : [row]),
      ...below.slice(0, after),
    ],
    cursor: { row: before, column: row === undefined ? 0 : columnOf(row, content.cursor) },
    isCutAbove: above.length > before,
    isCutBelow: below.length > after,
  };
}

/** The rows above or below, line by line, until there are enough. */
function rowsFrom(
  content: Content,
  direction: 'up' | 'down',
  ofLine: readonly Row[],
  width: number,
  enough: number,
): readonly Row[] {
  let rows = ofLine;
  let at = content.cursor;
  while (rows.length < enough) {
    const next = rowsBeside(content, direction, at, width);
    if (next === undefined) return rows;
    rows = direction === 'up' ? [...next, ...rows] : [...rows, ...next];
    at = next[0]?.start ?? at;
  }
  return rows;
}
