import { stripVTControlCharacters } from 'node:util';
import { cellWidth, graphemes } from '../../text/cells/cell-width.ts';

/** The lines of the live region above the cursor, and the position of the cursor. */
export interface DrawnFrame {
  readonly lines: readonly string[];
  /** The cursor's column, in cells. */
  readonly column: number;
  /** Height of the whole live region in rows. */
  readonly height: number;
}

/**
 * Erases everything below the cursor, starting at the second column. If an erased area started at
 * the top left corner, tmux would add the erased rows to its history.
 */
export const eraseBelow = '\u001b[2K\u001b[2G\u001b[J\u001b[G';

/** Erases the whole screen. */
export const eraseScreen: string = `\u001b[?25l\u001b[H${eraseBelow}`;

export const emptyFrame: DrawnFrame = { lines: [], column: 0, height: 0 };

/**
 * Returns true if the terminal wraps lines again when its width changes. Linux consoles, xterm and
 * screen do not.
 */
export function terminalReflows(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['TMUX'] !== undefined) return true;
  const { TERM: term = '', XTERM_VERSION: xterm } = env;
  return xterm === undefined && !/^(linux|dumb|screen)/.test(term);
}

/**
 * Returns a control sequence that erases the frame, but nothing above it. This works even if the
 * size of the terminal has changed. The sequence starts at the cursor, because the cursor keeps its
 * position in the text.
 *
 * Pass `columns` if the terminal wraps lines again after a resize.
 */
export function eraseFrame(frame: Omit<DrawnFrame, 'height'>, columns: number | undefined): string {
  const up = rowsAbove(frame, columns);
  return `\u001b[?25l\r${up === 0 ? '' : `\u001b[${up}A`}${eraseBelow}`;
}

/** Returns the number of rows of the frame above the cursor's row. */
export function rowsAbove(
  { lines, column }: Omit<DrawnFrame, 'height'>,
  columns: number | undefined,
): number {
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(1, columns);
  const rows = lines.map((line) => rowsOf(line, width));
  return rows.reduce((sum, count) => sum + count, Math.floor(column / width));
}

/**
 * Returns the number of rows that a line needs. A wide character is never split between two rows.
 */
function rowsOf(line: string, width: number): number {
  if (cellWidth(line) <= width) return 1;
  let [rows, used] = [1, 0];
  for (const { width: cells } of graphemes(stripVTControlCharacters(line))) {
    if (used + cells > width) [rows, used] = [rows + 1, 0];
    used += cells;
  }
  return rows;
}
