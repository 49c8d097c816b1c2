import { cellWidth, withLargestWidths } from '../text/cells/cell-width.ts';
import { wrapCells } from '../text/cells/clip-text.ts';
import { printable } from '../text/cells/printable.ts';

/** The size of a terminal. A terminal that does not know its size reports 0. */
export interface WindowSize {
  readonly rows?: number | undefined;
  readonly columns?: number | undefined;
}

/** A part of a question that fits the window together with its hint. */
export interface QuestionPage {
  readonly text: string;
  /** The number of rows, with the row of the cursor. */
  readonly height: number;
  /** True if the page ends with the last row of the question. */
  readonly isLast: boolean;
}

interface Row {
  readonly text: string;
  /** The index of the line that contains the row. */
  readonly line: number;
}

/**
 * Splits a question into pages. Each page is made for the size that the window has when the page is shown. After the
 * width has changed, the page starts at the line of its first row, so no row is left out.
 */
export class QuestionPages {
  readonly #lines: readonly string[];
  #rows: readonly Row[] = [];
  /** The width for which the rows are made. Default: not made yet. */
  #columns: number | undefined = Number.NaN;
  #first = 0;
  /** The index of the first row after the page that was made last. Undefined after the last page. */
  #next: number | undefined;

  constructor(question: string) {
    this.#lines = printable(question).split('\n');
  }

  /** Moves to the next page, if there is one. */
  advance(): void {
    this.#first = this.#next ?? this.#first;
  }

  /** Makes the current page for a size. `note` is a further hint below the page. Default: none. */
  page({ rows = Number.POSITIVE_INFINITY, columns }: WindowSize, note?: string): QuestionPage {
    this.#wrap(columns);
    const left = this.#rows.slice(this.#first).map(({ text }) => text);
    const below = note === undefined ? [] : wrapped(`${note} ${choices}`, columns);
    this.#next = undefined;
    if (left.length + below.length < rows)
      return {
        ...{ text: `${[...left, ...below].join('\n')} `, isLast: true },
        height: left.length + below.length,
      };
    const hintFor = (pages: number) =>
      wrapped([...(note === undefined ? [] : [note]), moreHint(pages)].join(' '), columns);
    // The number of pages is at most the number of rows, so the final hint is not longer than this one.
    const room = rows - hintFor(left.length).length - 1;
    if (room < 1)
      return { text: wrapped(tooSmall, columns).join('\n'), height: rows, isLast: false };
    this.#next = this.#first + room;
    const pages = 1 + Math.ceil(Math.max(0, left.length - room - rows + 1) / room);
    const text = [...left.slice(0, room), ...hintFor(pages), ''].join('\n');
    return { text, height: rows, isLast: false };
  }

  #wrap(columns: number | undefined): void {
    if (Object.is(columns, this.#columns)) return;
    const line = this.#rows[this.#first]?.line ?? 0;
    this.#columns = columns;
    this.#rows = this.#lines.flatMap((one, index) =>
      wrapped(one, columns).map((text) => ({ text, line: index })),
    );
    this.#first = Math.max(
      0,
      this.#rows.findIndex((row) => row.line === line),
    );
  }
}

/** The possible answers. They follow the question. */
export const choices = '[y/N]';

const tooSmall = 'This window is too small for the question. Enlarge it, or press n to refuse.';

function moreHint(pages: number): string {
  return `Space shows more (${pages} ${pages === 1 ? 'page' : 'pages'}), n refuses.`;
}

/** Starts each row that continues an indented line. Only this program writes into these columns. */
const continued = '  ↳ ';

/**
 * Wraps a line to the width of the window. Lines with content of the project are indented, and only sentences of the
 * question are not. If the window breaks an indented line, its further rows have a mark, so no row of the content can
 * look like a sentence of the question. A row that continues after a space shows this space. One cell stays free for the
 * cursor, so that the terminal does not break a word or the choices.
 */
function wrapped(line: string, columns: number | undefined): readonly string[] {
  if (columns === undefined) return [line];
  // A line that the terminal wraps once more would push the start of the page off the screen.
  return withLargestWidths(() => wrapLine(line, columns - 1));
}

function wrapLine(line: string, width: number): readonly string[] {
  const [margin] = /^ {2}(?:│ )?/.exec(line) ?? [];
  if (cellWidth(line) <= width || margin === undefined) return wrapCells(line, Math.max(1, width));
  const room = Math.max(1, width - cellWidth(continued));
  const rows = wrapCells(line.slice(margin.length), room, { showsSpaces: true });
  return rows.map((row, index) => (index === 0 ? margin : continued) + row);
}
