import { cellWidth, isSingleCells } from '../../text/cells/cell-width.ts';
import { wrapCells } from '../../text/cells/clip-text.ts';
import type { WrapOptions } from '../../text/cells/wrap-spans.ts';
import { TerminalText, writeText } from '../../text/terminal/terminal-gate.ts';
import type { Terminal } from '../contract/chat-options.ts';

/** The width of a terminal that does not report it. */
const defaultColumns = 80;

/**
 * Writes lines at the end of the output, and never changes a line above. The last line can be open: it shows what
 * the user types. Only a Backspace at its end erases a character, as in a shell.
 */
export class LineWriter {
  readonly #terminal: Terminal;
  /** The text of the open line. Undefined if the cursor is at the start of an empty line. */
  #open: string | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get columns(): number {
    return this.#terminal.columns || defaultColumns;
  }

  /** The text of the open line. Undefined if no line is open. */
  get openText(): string | undefined {
    return this.#open;
  }

  /** Writes lines that our own code painted. The terminal breaks no word, because screen readers read rows. */
  lines(lines: readonly string[], options?: RowOptions): void {
    if (lines.length === 0) return;
    this.close();
    const rows = lines.flatMap((line) => wrapLine(line, this.columns, options));
    this.#write(TerminalText.painted(rows.map((row) => `${row}\n`).join('')));
  }

  /** Shows a text in the open line. If the text does not continue the line, it starts a new line. */
  show(text: string): void {
    const before = this.#open;
    if (before === text) return;
    this.#open = text;
    if (before === undefined) return this.#write(text);
    if (text.startsWith(before)) return this.#write(text.slice(before.length));
    const erased = this.#erasedCells(before, text);
    this.#write(erased === undefined ? `\n${text}` : TerminalText.eraseLast(erased));
  }

  /** Ends the open line. */
  close(): void {
    if (this.#open !== undefined) this.#write('\n');
    this.#open = undefined;
  }

  /** Returns the number of cells to erase at the end of the row. Returns undefined if this is not enough. */
  #erasedCells(before: string, text: string): number | undefined {
    if (!before.startsWith(text)) return undefined;
    const removed = before.slice(text.length);
    const line = before.slice(before.lastIndexOf('\n') + 1);
    const width = cellWidth(line);
    const isSure = width < this.columns || isSingleCells(line);
    const cells = cellWidth(removed);
    return isSure && !removed.includes('\n') && cells <= width % this.columns ? cells : undefined;
  }

  #write(text: string | TerminalText): void {
    writeText(this.#terminal, text);
  }
}

interface RowOptions extends WrapOptions {
  /** The further indent of the rows after the first one. Default: none. */
  readonly hang?: string | undefined;
}

/** Breaks a line between words. The rows keep the indent of the line. */
function wrapLine(
  line: string,
  columns: number,
  { hang = '', ...options }: RowOptions = {},
): readonly string[] {
  const [indent = ''] = /^ */.exec(line) ?? [];
  const room = columns - indent.length - hang.length;
  if (room < 1) return wrapCells(line, columns, options);
  const rows = wrapCells(line.slice(indent.length), room, options);
  return rows.map((row, index) => indent + (index === 0 ? '' : hang) + row);
}
