/**
 * Called with the number of steps that a function has done. Tests use it to check that the time is linear.
 */
export type OnWork = (steps: number) => void;

/** A quote, a list item or a footnote that contains a block. */
export type Container =
  | {
      readonly kind: 'quote';
      /** Identifies the quote in its stream. */
      readonly id: number;
    }
  | {
      readonly kind: 'footnote';
      /** Identifies the footnote in its stream. */
      readonly id: number;
      /** The label of the references, for example `1` for `[^1]`. */
      readonly label: string;
      /** True if this block is the first block of the footnote. A view shows the label beside this block. */
      readonly opens: boolean;
    }
  | {
      readonly kind: 'item';
      /** Identifies the item in its stream. */
      readonly id: number;
      /** The id of the list. Items with the same `list` belong to one list. */
      readonly list: number;
      /** The number of the item, for example `3.` or `3)`. Undefined if the list has bullets. */
      readonly number?: string | undefined;
      /** True if this block is the first block of the item. A view shows the marker beside this block. */
      readonly opens: boolean;
    };

/** The position of a block. */
export interface BlockPosition {
  /** The containers of the block, outermost first. */
  readonly within: readonly Container[];
  /**
   * Set if an empty line separates this block from the previous block. The value is the number of containers
   * (quotes and list items) that contain the empty line.
   */
  readonly gap?: number | undefined;
}

/** One block of a document. It never changes when more text arrives. */
export type Block = BlockPosition & BlockContent;

/**
 * The content of a block. The texts of headings, paragraphs and table cells are source text for
 * `parseInline`. If `isRest` is true, the block continues the previous block.
 */
export type BlockContent =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string; readonly isRest: boolean }
  | TableBlock
  | { readonly kind: 'html_line'; readonly text: string; readonly isRest: boolean }
  | { readonly kind: 'code_open'; readonly info: string }
  | CodeLine
  | { readonly kind: 'code_close' }
  | { readonly kind: 'rule' };

/** A table, or a part of a long table. */
export interface TableBlock {
  readonly kind: 'table';
  /**
   * The source lines: the head, the delimiter line below it, and the rows. If `isRest` is true, the first
   * two lines are repeated.
   */
  readonly rows: readonly string[];
  readonly isRest: boolean;
}

/** One line of a code block. */
export interface CodeLine {
  readonly kind: 'code_line';
  /** The line with its tabs, without the indentation of its containers. */
  readonly text: string;
  /** True if this line continues the previous line, because the source line was too long for one piece. */
  readonly isCut: boolean;
}

/** The checkbox of a task list item. */
export interface Task {
  readonly isChecked: boolean;
  /** The text after the checkbox. */
  readonly text: string;
}

const checkbox = /^\[([ xX])\] +(?=\S)/;

/**
 * Returns the checkbox of a block that starts a task list item. Returns undefined for other blocks.
 *
 * @example
 * const stream = new MarkdownStream();
 * stream.push('- [x] Book the flight');
 * const [block] = stream.end();
 * taskOf(block); // { isChecked: true, text: 'Book the flight' }
 */
export function taskOf(block: Block): Task | undefined {
  if (block.kind !== 'paragraph' || !startsItem(block)) return undefined;
  const [box, mark] = checkbox.exec(block.text) ?? [];
  if (box === undefined) return undefined;
  return { isChecked: mark !== ' ', text: block.text.slice(box.length) };
}

/** Returns true if the block is the first block of the list item that directly contains it. */
export function startsItem({ within }: BlockPosition): boolean {
  const innermost = within.at(-1);
  return innermost?.kind === 'item' && innermost.opens;
}

/** The alignment of a column. */
export type Alignment = 'left' | 'center' | 'right';

/** The columns of a table. */
export interface TableHead {
  /** The texts of the head, one per column. They are source text for `parseInline`. */
  readonly cells: readonly string[];
  /** The alignments, one per column. Undefined for a column without an alignment. */
  readonly alignments: readonly (Alignment | undefined)[];
}

/** Reads the head of a table from the first two rows of a `table` block. */
export function tableHead(rows: readonly string[]): TableHead {
  const [head = '', under = ''] = rows;
  return { cells: cellsOf(head), alignments: cellsOf(under).map(alignmentOf) };
}

/**
 * Splits a row of a `table` block into cells. If there are too many cells, the last cell contains the text of
 * all additional cells, so that no text is lost. A row can have fewer cells than the head.
 */
export function tableRow(row: string, columns: number): readonly string[] {
  const cells = cellsOf(row);
  if (cells.length <= columns) return cells;
  return [...cells.slice(0, columns - 1), cells.slice(columns - 1).join(' | ')];
}

/** Splits a line at its pipes. An escaped pipe stays part of a cell. */
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
