import { clipCells } from '../../text/cells/clip-text.ts';
import type { Content, EditorState } from '../editor/editor-state.ts';
import { type Atom, columnOf, cursorRow, type Row, rowsAt, rowsBeside } from '../editor/rows.ts';
import { type Span, type StyledLine, singleLine, span } from './styled-line.ts';

/**
 * The number of cells before the text of each row. The first row has a mark there. If rows are
 * hidden, an arrow is there.
 */
export const markWidth = 2;

interface TextLinesOptions {
  readonly state: EditorState;
  readonly width: number;
  readonly maxRows: number;
  readonly placeholder: string;
  readonly drawsCursor: boolean;
}

export interface TextLines {
  readonly lines: readonly StyledLine[];
  /** The cursor position: cells from the left, and rows from the top. */
  readonly cursor: { readonly x: number; readonly y: number };
}

/** Draws the text of the prompt. */
export function textLines(options: TextLinesOptions): TextLines {
  const { state, width, maxRows, drawsCursor } = options;
  if (state.text === '') return placeholderLine(options);
  const seen = visibleRows(state, width - markWidth, maxRows);
  const last = seen.rows.length - 1;
  const lines = seen.rows.map((row, index) => [
    rowMark(index, last, seen),
    ...spansOf(row, drawsCursor && index === seen.cursor.row ? state.cursor : undefined),
  ]);
  return { lines, cursor: { x: markWidth + seen.cursor.column, y: seen.cursor.row } };
}

function rowMark(
  index: number,
  last: number,
  { isCutAbove, isCutBelow }: { readonly isCutAbove: boolean; readonly isCutBelow: boolean },
): Span {
  if (index === 0) return isCutAbove ? span('↑ ', 'dim') : span('> ', 'accent');
  return index === last && isCutBelow ? span('↓ ', 'dim') : span('  ');
}

function placeholderLine({ width, placeholder, drawsCursor }: TextLinesOptions): TextLines {
  const shown = clipCells(singleLine(placeholder), width - markWidth);
  const [first = ' ', ...rest] = [...shown];
  const text = drawsCursor
    ? [span(first, 'cursor'), span(rest.join(''), 'dim')]
    : [span(shown, 'dim')];
  return { lines: [[span('> ', 'accent'), ...text]], cursor: { x: markWidth, y: 0 } };
}

/** Returns the spans of a row. Adjacent spans with the same style are joined. */
function spansOf({ atoms, end }: Row, cursor: number | undefined): readonly Span[] {
  const spans: Span[] = [];
  for (const atom of atoms) {
    for (const next of atom.start === cursor ? cursorSpans(atom) : [atomSpan(atom)]) {
      const last = spans.at(-1);
      if (last?.style === next.style)
        spans[spans.length - 1] = span(last.text + next.text, last.style);
      else spans.push(next);
    }
  }
  return cursor === end ? [...spans, span(' ', 'cursor')] : spans;
}

function atomSpan({ shown, isFold }: Atom): Span {
  return span(shown, isFold ? 'dim' : 'plain');
}

/**
 * Returns the spans of the atom under the cursor. A tab is several cells wide, and the cursor
 * covers only the first cell.
 */
function cursorSpans({ shown }: Atom): readonly Span[] {
  return shown.startsWith(' ')
    ? [span(' ', 'cursor'), span(shown.slice(1))]
    : [span(shown, 'cursor')];
}

/** The visible rows of the text and the cursor position in them. */
interface VisibleRows {
  readonly rows: readonly Row[];
  readonly cursor: { readonly row: number; readonly column: number };
  readonly isCutAbove: boolean;
  readonly isCutBelow: boolean;
}

/**
 * Returns the rows around the cursor. Lines far from the cursor are not processed, so a long text
 * is not slower.
 */
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

/** Returns the rows of the cursor's line and of the lines above or below it, up to `enough` rows. */
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
