import { stripVTControlCharacters } from 'node:util';
import { cellWidth, graphemes } from '../../text/cells/cell-width.ts';

/** What is drawn above the cursor, and left of it. */
export interface Drawn {
  readonly lines: readonly string[];
  /** In cells. */
  readonly column: number;
  /** Of all of it, in rows. */
  readonly height: number;
}

/** Not from the first column: from the first of the first row, tmux would keep in its history what it erases. */
const eraseBelow = '\u001b[2K\u001b[2G\u001b[J\u001b[G';

/** All of the screen. */
export const eraseScreen: string = `\u001b[?25l\u001b[H${eraseBelow}`;

export const nothingDrawn: Drawn = { lines: [], column: 0, height: 0 };

/** Those that leave lines as they are when they become narrower. */
export function doesReflow(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['TMUX'] !== undefined) return true;
  const { TERM: term = '', XTERM_VERSION: xterm } = env;
  return xterm === undefined && !/^(linux|dumb|screen)/.test(term);
}

/**
 * Erases what is drawn, and nothing above it, in a terminal that may have another size by now: from the
 * cursor, which stays at its place in the text whatever becomes of the rows. `columns`: of a terminal that
 * wraps lines anew.
 */
export function eraseDrawn(drawn: Omit<Drawn, 'height'>, columns: number | undefined): string {
  const up = rowsAbove(drawn, columns);
  return `\u001b[?25l\r${up === 0 ? '' : `\u001b[${up}A`}${eraseBelow}`;
}

/** How many rows what is drawn takes above the cursor's. */
export function rowsAbove(
  { lines, column }: Omit<Drawn, 'height'>,
  columns: number | undefined,
): number {
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(1, columns);
  const rows = lines.map((line) => rowsOf(line, width));
  return rows.reduce((sum, count) => sum + count, Math.floor(column / width));
}

/** What needs two cells is not broken. */
function rowsOf(line: string, width: number): number {
  if (cellWidth(line) <= width) return 1;
  let [rows, used] = [1, 0];
  for (const { width: cells } of graphemes(stripVTControlCharacters(line))) {
    if (used + cells > width) [rows, used] = [rows + 1, 0];
    used += cells;
  }
  return rows;
}
