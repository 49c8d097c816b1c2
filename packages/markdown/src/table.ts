/** The alignment of a column. */
export type Alignment = 'left' | 'center' | 'right';

/** The columns of a table. */
export interface TableHead {
  /** The texts of the head, one per column. They are source text for `parseInline`. */
  readonly cells: readonly string[];
  /** The alignments, one per column. Undefined if the table does not define one. */
  readonly alignments: readonly (Alignment | undefined)[];
}

/** Reads the head of a table from the first two rows of a `table` block. */
export function tableHead(rows: readonly string[]): TableHead {
  const [head = '', under = ''] = rows;
  return { cells: cellsOf(head), alignments: cellsOf(under).map(alignmentOf) };
}

/**
 * Reads a row of a `table` block. Surplus cells become part of the last cell, so that no text is
 * lost. A row can have fewer cells than the head.
 */
export function tableRow(row: string, columns: number): readonly string[] {
  const cells = cellsOf(row);
  if (cells.length <= columns) return cells;
  return [...cells.slice(0, columns - 1), cells.slice(columns - 1).join(' | ')];
}

/** Splits a line at its pipes. An escaped pipe is part of a cell. */
export function cellsOf(row: string): readonly string[] {
  const text = row.trim();
  const cells: string[] = [''];
  for (let at = text.startsWith('|') ? 1 : 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '\\' && text[at + 1] === '|') {
      cells.push(`${cells.pop()}|`);
      at++;
    } else if (char === '|') {
      if (at < text.length - 1) cells.push('');
    } else cells.push(`${cells.pop()}${char}`);
  }
  return cells.map((cell) => cell.trim());
}

function alignmentOf(under: string): Alignment | undefined {
  if (!under.endsWith(':')) return under.startsWith(':') ? 'left' : undefined;
  return under.startsWith(':') ? 'center' : 'right';
}
