import { type Alignment, type TableHead, tableHead, tableRow } from '@millrace/markdown';
import { memo, useCallback, useMemo } from 'react';
import { InlineView } from './inline-view.tsx';
import { GrowingListView } from './tree/growing-list.tsx';
import type { TableNode } from './tree/markdown-node.ts';
import { decidingRows } from './tree/steady-blocks.ts';

/** Renders a table. Unchanged rows are not rendered again. */
export function TableView({ node: { head, under, parts } }: { readonly node: TableNode }) {
  const columns = useMemo(() => tableHead([head, under]), [head, under]);
  const [first] = parts;
  const widths = useMemo(() => columnWidths(columns, first ?? []), [columns, first]);
  const render = useCallback(
    (shown: readonly (readonly string[])[]) =>
      shown.map((rows, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part never changes its position
        <RowsView key={index} rows={rows} columns={columns} />
      )),
    [columns],
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: users scroll the table with the keyboard
    <div className="markdown-table" tabIndex={0}>
      <table dir="auto" data-size={sizeOf(widths)}>
        <colgroup>
          {widths.map((width, column) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a column never changes its position
            <col key={column} width={`${Math.round((1000 * width) / sum(widths)) / 10}%`} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.cells.map((text, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell never changes its position
              <th key={column} data-align={alignOf(columns, column)}>
                <InlineView text={text} />
              </th>
            ))}
          </tr>
        </thead>
        <GrowingListView list={parts} render={render} />
      </table>
    </div>
  );
}

/** Minimum width of a column, in characters. */
const minWidth = 4;
const maxWidth = 40;

/**
 * Returns the relative widths of the columns. They depend only on the head and the first rows, so
 * they do not change when more rows arrive.
 */
function columnWidths(columns: TableHead, rows: readonly string[]): readonly number[] {
  const count = columns.cells.length;
  const deciding = rows.slice(0, decidingRows).map((row) => tableRow(row, count));
  return columns.cells.map((head, column) => {
    const lengths = [head, ...deciding.map((cells) => cells[column] ?? '')].map(
      ({ length }) => length,
    );
    return Math.min(maxWidth, Math.max(minWidth, ...lengths)) + 2;
  });
}

const sum = (widths: readonly number[]) => widths.reduce((all, width) => all + width, 0);

function sizeOf(widths: readonly number[]): 'small' | 'large' | undefined {
  if (sum(widths) <= 36) return 'small';
  return sum(widths) > 100 || widths.length > 5 ? 'large' : undefined;
}

interface RowsProps {
  readonly rows: readonly string[];
  readonly columns: TableHead;
}

const RowsView = memo(function RowsView({ rows, columns }: RowsProps) {
  return (
    <tbody>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row never changes its position
        <RowView key={index} row={row} columns={columns} />
      ))}
    </tbody>
  );
});

interface RowProps {
  readonly row: string;
  readonly columns: TableHead;
}

const RowView = memo(function RowView({ row, columns }: RowProps) {
  const cells = tableRow(row, columns.cells.length);
  return (
    <tr>
      {columns.cells.map((_, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a cell never changes its position
        <td key={column} data-align={alignOf(columns, column)}>
          <InlineView text={cells[column] ?? ''} />
        </td>
      ))}
    </tr>
  );
});

function alignOf({ alignments }: TableHead, column: number): Alignment | undefined {
  return alignments[column];
}
