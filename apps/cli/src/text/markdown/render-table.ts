import {
  type Alignment,
  type OnWork,
  type TableBlock,
  tableHead,
  tableRow,
} from '@millrace/markdown';
import { cellWidth, longestWord } from '../cells/cell-width.ts';
import type { Line, Span } from '../cells/span.ts';
import { wrapSpans } from '../cells/wrap-spans.ts';
import { plain } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import { inlineSpans } from './inline-spans.ts';

type Cell = readonly Span[];

export interface TableOptions {
  readonly width: number;
  readonly theme: Theme;
  readonly onWork?: OnWork | undefined;
}

/**
 * Renders a table. If it is too wide, its columns get narrower and their cells wrap. If it is still
 * too wide, each row is shown as a list of fields.
 */
export function renderTable(
  { rows, isRest }: TableBlock,
  { width, theme, onWork }: TableOptions,
): readonly Line[] {
  const { cells, alignments } = tableHead(rows);
  const head = cells.map((text) => inlineSpans(text, theme, theme.styles.tableHead, onWork));
  const body = rows
    .slice(2)
    .map((row) =>
      tableRow(row, head.length).map((text) => inlineSpans(text, theme, plain, onWork)),
    );
  const columns = head.map((cell, column) =>
    columnOf([cell, ...body.map((row) => row[column] ?? [])]),
  );
  const widths = columnWidths(columns, width - 3 * (head.length - 1));
  if (widths === undefined || theme.listsTables === true) return records(head, body, width, theme);
  return grid(isRest ? body : [head, ...body], { widths, alignments, theme, hasHead: !isRest });
}

interface Column {
  /** The width of the column's widest cell. */
  readonly wanted: number;
  /** The width of the column's longest word. */
  readonly word: number;
}

/** Maximum width that is reserved for a word. Longer words can be cut. */
const maxWord = 20;

/**
 * Returns the widths of the columns. If the columns do not fit, the widest ones get narrower until
 * words would be cut. Returns undefined if they still do not fit.
 */
export function columnWidths(
  columns: readonly Column[],
  room: number,
): readonly number[] | undefined {
  const leastOf = ({ wanted, word }: Column) => Math.min(wanted, word, maxWord);
  const widthsFor = (cap: number) =>
    columns.map((column) => Math.max(leastOf(column), Math.min(column.wanted, cap)));
  if (sum(widthsFor(0)) > room) return undefined;
  let [fits, most] = [0, room];
  while (fits < most) {
    const middle = Math.ceil((fits + most) / 2);
    if (sum(widthsFor(middle)) <= room) fits = middle;
    else most = middle - 1;
  }
  let left = room - sum(widthsFor(fits));
  return widthsFor(fits).map((width, index) => {
    const grows = left > 0 && width === fits && width < (columns[index]?.wanted ?? 0);
    if (grows) left--;
    return grows ? width + 1 : width;
  });
}

function sum(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width, 0);
}

function widthOf(cell: Cell): number {
  const text = cell.map((span) => span.text).join('');
  return text.split('\n').reduce((most, line) => Math.max(most, cellWidth(line)), 0);
}

function columnOf(cells: readonly Cell[]): Column {
  return {
    wanted: cells.reduce((most, cell) => Math.max(most, widthOf(cell)), 1),
    word: cells.reduce((most, cell) => Math.max(most, longestWord(cell)), 1),
  };
}

interface Grid {
  readonly widths: readonly number[];
  readonly alignments: readonly (Alignment | undefined)[];
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

function gridRow(row: readonly Cell[], { widths, alignments, theme }: Grid): readonly Line[] {
  const cells = widths.map((width, column) => wrapSpans(row[column] ?? [], width));
  const height = cells.reduce((most, lines) => Math.max(most, lines.length), 1);
  const column: Span = { text: ` ${theme.symbols.column} `, style: theme.styles.muted };
  return Array.from({ length: height }, (_, at) =>
    cells.flatMap((lines, index) => {
      const isLast = index === cells.length - 1;
      const padded = pad(lines[at] ?? [], widths[index] ?? 0, alignments[index] ?? 'left', isLast);
      return index === 0 ? padded : [column, ...padded];
    }),
  );
}

function pad(line: Line, width: number, align: Alignment, isLast: boolean): Line {
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
