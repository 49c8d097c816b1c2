import { clipCells } from '../text/cells/clip-cells.ts';
import type { Atom } from './atoms.ts';
import type { EditorState } from './editor-state.ts';
import { oneLine } from './one-line.ts';
import type { Row } from './rows.ts';
import { type Span, type StyledLine, span } from './styled-line.ts';
import { visibleRows } from './visible-rows.ts';

/** The cells before the text of each row: a mark at the first, arrows where there is more. */
export const markWidth = 2;

export interface TextLinesOptions {
  readonly state: EditorState;
  readonly width: number;
  readonly maxRows: number;
  readonly placeholder: string;
  readonly drawsCursor: boolean;
}

export interface TextLines {
  readonly lines: readonly StyledLine[];
  /** Where the cursor is, in cells from the left and rows from the top. */
  readonly cursor: { readonly x: number; readonly y: number };
}

/** The text as it is seen. */
export function textLines(options: TextLinesOptions): TextLines {
  const { state, width, maxRows, drawsCursor } = options;
  if (state.text === '') return placeholderLine(options);
  const seen = visibleRows(state, width - markWidth, maxRows);
  const last = seen.rows.length - 1;
  const lines = seen.rows.map((row, index) => [
    markOf(index, last, seen),
    ...spansOf(row, drawsCursor && index === seen.cursor.row ? state.cursor : undefined),
  ]);
  return { lines, cursor: { x: markWidth + seen.cursor.column, y: seen.cursor.row } };
}

function markOf(
  index: number,
  last: number,
  { isCutAbove, isCutBelow }: { readonly isCutAbove: boolean; readonly isCutBelow: boolean },
): Span {
  if (index === 0) return isCutAbove ? span('↑ ', 'dim') : span('> ', 'accent');
  return index === last && isCutBelow ? span('↓ ', 'dim') : span('  ');
}

function placeholderLine({ width, placeholder, drawsCursor }: TextLinesOptions): TextLines {
  const shown = clipCells(oneLine(placeholder), width - markWidth);
  const [first = ' ', ...rest] = [...shown];
  const text = drawsCursor
    ? [span(first, 'cursor'), span(rest.join(''), 'dim')]
    : [span(shown, 'dim')];
  return { lines: [[span('> ', 'accent'), ...text]], cursor: { x: markWidth, y: 0 } };
}

/** Neighbours that look alike are one span. */
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

/** A tab is several cells, and the cursor is on the first. */
function cursorSpans({ shown }: Atom): readonly Span[] {
  return shown.startsWith(' ')
    ? [span(' ', 'cursor'), span(shown.slice(1))]
    : [span(shown, 'cursor')];
}
