import { cellWidth, longestWord } from '../cells/cell-width.ts';
import type { Line, Span } from '../cells/span.ts';
import { wrapSpans } from '../cells/wrap-spans.ts';
import type { OnWork } from '../code/highlight.ts';
import { inlineSpans } from '../inline/inline-spans.ts';
import { plain } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import type { BlockContent } from './block.ts';
import { cellsOf } from './block-start.ts';
import { type Column, columnWidths } from './column-widths.ts';

type Cell = readonly Span[];
type Align = 'left' | 'center' | 'right';

export interface TableOptions {
  readonly width: number;
  readonly theme: Theme;
  readonly onWork?: OnWork | undefined;
}

/** A table that fits: its columns shrink and wrap; where they cannot, each row is a record. */
export function renderTable(
  { rows, isRest }: BlockContent & { kind: 'table' },
  { width, theme, onWork }: TableOptions,
): readonly Line[] {
  const [headRow = '', underRow = '', ...bodyRows] = rows;
  const aligns = cellsOf(underRow).map(alignOf);
  const head = cellsOf(headRow).map((text) =>
    inlineSpans(text, theme, theme.styles.tableHead, onWork),
  );
  const body = bodyRows.map((row) =>
    rowOf(row, head.length).map((text) => inlineSpans(text, theme, plain, onWork)),
  );
  const columns = head.map((cell, column) =>
    columnOf([cell, ...body.map((row) => row[column] ?? [])]),
  );
  const widths = columnWidths(columns, width - 3 * (head.length - 1));
  if (widths === undefined) return records(head, body, width, theme);
  return grid(isRest ? body : [head, ...body], { widths, aligns, theme, hasHead: !isRest });
}

/** Cells that the head knows nothing of are kept in the last one. */
function rowOf(row: string, columns: number): readonly string[] {
  const cells = cellsOf(row);
  if (cells.length <= columns) return cells;
  return [...cells.slice(0, columns - 1), cells.slice(columns - 1).join(' | ')];
}

function alignOf(under: string): Align {
  if (!under.endsWith(':')) return 'left';
  return under.startsWith(':') ? 'center' : 'right';
}

function widthOf(cell: Cell): number {
  const text = cell.map((span) => span.text).join('');
  return text.split('\n').reduce((most, line) => Math.max(most, cellWidth(line)), 0);
}

/** How wide a column wants to be, and how wide it must be so that words stay whole. */
function columnOf(cells: readonly Cell[]): Column {
  return {
    wanted: cells.reduce((most, cell) => Math.max(most, widthOf(cell)), 1),
    word: cells.reduce((most, cell) => Math.max(most, longestWord(cell)), 1),
  };
}

interface Grid {
  readonly widths: readonly number[];
  readonly aligns: readonly Align[];
  readonly theme: Theme;
  readonly hasHead: boolean;
}

function grid(rows: readonly (readonly Cell[])[], options: Grid): readonly Line[] {
  const { widths, theme, hasHead } = options;
  const { rule, cross } = theme.symbols;
  const between = widths.map((width) => rule.repeat(width)).join(`${rule}${cross}${rule}`);
  const line: Line = [{ text: between, style: theme.styles.muted }];
  const blocks = rows.map((row) => gridRow(row, options));
  const isApart = blocks.some((block) => block.length > 1);
  return blocks.flatMap((block, index) => {
    const needsRule = index > 0 && (isApart || (hasHead && index === 1));
    return needsRule ? [line, ...block] : block;
  });
}

function gridRow(row: readonly Cell[], { widths, aligns, theme }: Grid): readonly Line[] {
  const cells = widths.map((width, column) => wrapSpans(row[column] ?? [], width));
  const height = cells.reduce((most, lines) => Math.max(most, lines.length), 1);
  const column: Span = { text: ` ${theme.symbols.column} `, style: theme.styles.muted };
  return Array.from({ length: height }, (_, at) =>
    cells.flatMap((lines, index) => {
      const isLast = index === cells.length - 1;
      const padded = pad(lines[at] ?? [], widths[index] ?? 0, aligns[index] ?? 'left', isLast);
      return index === 0 ? padded : [column, ...padded];
    }),
  );
}

function pad(line: Line, width: number, align: Align, isLast: boolean): Line {
  const free = Math.max(0, width - widthOf(line));
  const before = align === 'left' ? 0 : Math.floor(free / (align === 'center' ? 2 : 1));
  const after = isLast ? 0 : free - before;
  const space = (length: number): Span => ({ text: ' '.repeat(length), style: plain });
  return [space(before), ...line, space(after)];
}

function records(
  head: readonly Cell[],
  body: readonly (readonly Cell[])[],
  width: number,
  theme: Theme,
): readonly Line[] {
  if (body.length === 0) return head.flatMap((cell) => wrapSpans(cell, width));
  const line: Line = [
    { text: theme.symbols.rule.repeat(Math.min(3, width)), style: theme.styles.muted },
  ];
  return body.flatMap((row, index) => {
    const fields = row.flatMap((cell, column) => field(head[column] ?? [], cell, width));
    return index === 0 ? fields : [line, ...fields];
  });
}

function field(name: Cell, value: Cell, width: number): readonly Line[] {
  const colon: Span = { text: ': ', style: plain };
  return wrapSpans(widthOf(name) === 0 ? value : [...name, colon, ...value], width);
}
