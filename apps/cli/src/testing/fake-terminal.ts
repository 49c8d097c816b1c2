import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { graphemes } from '../text/cells/cell-width.ts';

interface FakeTerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  /**
   * True if the terminal wraps lines again when its width changes. Most terminals do, but xterm
   * does not. Default: false.
   */
  readonly reflows?: boolean;
  /** Returns the number of cells that the terminal draws for a code point. Default: the widths that the chat assumes. */
  readonly widthOf?: ((character: string) => number) | undefined;
}

/** A row of cells. If it is wrapped, it continues in the next row. */
interface Line {
  cells: string[];
  isWrapped: boolean;
  /**
   * The text of the cells. It is cached until the cells change, because tests read the whole text
   * after each step.
   */
  text?: string | undefined;
}

const newLine = (): Line => ({ cells: [], isWrapped: false });

const pieces =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what controls a terminal
  /\u001b\[[0-9;?<>=]*[A-Za-z]|\u001b\][^\u0007]*\u0007|[\b\r\n]|[^\u001b\b\r\n]+/g;

/** Emulates the terminal features that a program needs to draw at the bottom of the screen. */
export class FakeTerminal extends EventEmitter {
  readonly isTTY = true;
  readonly writable = true;
  columns: number;
  rows: number;
  /** Everything that was written. */
  written = '';
  /** Number of writes. */
  writes = 0;
  isCursorShown = true;
  /** Called after the program has read the size. */
  onSizeRead: () => void = () => {};
  /** The largest upward cursor move so far, in rows. */
  maxUpwardMove = 0;
  /** The scrollback and the screen, without colors. */
  #lines: Line[] = [newLine()];
  #top = 0;
  #row = 0;
  #column = 0;
  /** The real size. `columns` and `rows` contain the last reported size. */
  #size: { readonly columns: number; readonly rows: number };
  readonly #reflows: boolean;
  readonly #widthOf: ((character: string) => number) | undefined;
  /** False while the terminal cuts long lines (DECAWM is off). */
  #wraps = true;
  #isSignalPending = false;

  constructor({ columns = 80, rows = 24, reflows = false, widthOf }: FakeTerminalOptions = {}) {
    super();
    this.#widthOf = widthOf;
    this.columns = columns;
    this.rows = rows;
    this.#size = { columns, rows };
    this.#reflows = reflows;
  }

  write(data: string | Uint8Array, encoding?: unknown, callback?: unknown): boolean {
    const text = String(data);
    this.written += text;
    if (text !== '') this.writes++;
    for (const piece of text.match(pieces) ?? []) this.#piece(piece);
    const done = typeof encoding === 'function' ? encoding : callback;
    if (typeof done === 'function') queueMicrotask(() => done());
    return true;
  }

  /** The scrollback and the screen, without trailing spaces and trailing empty lines. */
  get text(): string {
    return this.#textFrom(0);
  }

  /** The visible screen. */
  get screen(): string {
    return this.#textFrom(this.#top);
  }

  /** The position of the cursor, relative to the top of the screen. */
  get cursor(): { readonly row: number; readonly column: number } {
    return { row: this.#row - this.#top, column: this.#column };
  }

  /**
   * Resizes the terminal as many real terminals do. If it gets lower, rows below the cursor are
   * dropped. If it gets higher, rows return from the scrollback.
   */
  resize(columns: number, rows: number): void {
    this.changeSize(columns, rows);
    this.reportSize();
  }

  /** Changes the size without reporting it. */
  changeSize(columns: number, rows: number): void {
    const fewer = this.#size.rows - rows;
    if (fewer > 0) {
      const below = this.#top + this.#size.rows - 1 - this.#row;
      this.#lines.length = Math.min(this.#lines.length, this.#row + 1 + Math.max(0, below - fewer));
      this.#top += Math.max(0, fewer - below);
    } else this.#top = Math.max(0, this.#top + fewer);
    if (this.#reflows && columns !== this.#size.columns) this.#reflow(columns, rows);
    this.#column = Math.min(this.#column, columns - 1);
    this.#size = { columns, rows };
  }

  /**
   * Changes the size without the signal that reports it, as on a busy machine. A program that reads
   * the size gets the new one.
   */
  changeSizeBeforeSignal(columns: number, rows: number): void {
    this.changeSize(columns, rows);
    this.#isSignalPending = true;
  }

  _refreshSize(): void {
    const isChanged = this.#isSignalPending;
    this.#isSignalPending = false;
    if (isChanged) this.reportSize();
    this.onSizeRead();
  }

  reportSize(): void {
    this.columns = this.#size.columns;
    this.rows = this.#size.rows;
    this.emit('resize');
  }

  /** Wraps all lines again for a new width. The cursor keeps its position in the text. */
  #reflow(columns: number, rows: number): void {
    const before = this.#lines;
    const [row, column] = [this.#row, this.#column];
    this.#lines = [];
    let whole: string[] = [];
    let cursor: number | undefined;
    for (const [index, { cells, isWrapped }] of before.entries()) {
      if (index === row) cursor = whole.length + column;
      whole.push(...cells);
      // The next row continues this one. It may have been dropped.
      if (isWrapped && index < before.length - 1) continue;
      if (cursor !== undefined) {
        this.#row = this.#lines.length + Math.floor(cursor / columns);
        this.#column = cursor % columns;
      }
      for (let at = 0; at === 0 || at < whole.length; ) {
        // A wide character is not split between two rows.
        const end = whole[at + columns] === '' ? at + columns - 1 : at + columns;
        this.#lines.push({ cells: whole.slice(at, end), isWrapped: end < whole.length });
        at = Math.max(end, at + 1);
      }
      whole = [];
      cursor = undefined;
    }
    this.#top = Math.max(0, this.#lines.length - rows);
    this.#row = Math.max(this.#top, this.#row);
  }

  #textFrom(first: number): string {
    const lines = this.#lines.slice(first).map((line) => {
      line.text ??= line.cells.join('').trimEnd();
      return line.text;
    });
    return lines.join('\n').trimEnd();
  }

  #piece(piece: string): void {
    if (piece === '\n') this.#lineFeed();
    else if (piece === '\r') this.#column = 0;
    else if (piece === '\b') this.#column = Math.max(0, this.#column - 1);
    else if (piece.startsWith('\u001b[')) this.#control(piece.slice(2, -1), piece.slice(-1));
    else if (!piece.startsWith('\u001b'))
      if (this.#widthOf !== undefined)
        for (const text of piece) this.#put(text, this.#widthOf(text));
      else for (const { text, width } of graphemes(piece)) this.#put(text, width);
  }

  #control(parameters: string, name: string): void {
    const count = Number(parameters || 1) || 1;
    switch (name) {
      case 'A':
        this.maxUpwardMove = Math.max(this.maxUpwardMove, count);
        this.#row = Math.max(this.#top, this.#row - count);
        return;
      case 'B':
        return this.#down(count);
      case 'E':
        this.#column = 0;
        return this.#down(count);
      case 'G':
        this.#column = Math.min(this.#size.columns, count) - 1;
        return;
      case 'H':
        this.#row = this.#top;
        this.#column = 0;
        return;
      case 'J':
        // tmux adds the rows to its history if the erased area starts at the top left corner.
        if (this.#row === this.#top && this.#column === 0) {
          while (this.#lines.at(-1)?.cells.join('').trim() === '') this.#lines.pop();
          this.#top = this.#lines.length;
          this.#row = this.#top;
        }
        this.#eraseLine(0);
        this.#lines.length = this.#row + 1;
        return;
      case 'K':
        return this.#eraseLine(Number(parameters || 0));
      case 'h':
      case 'l':
        if (parameters === '?25') this.isCursorShown = name === 'h';
        if (parameters === '?7') this.#wraps = name === 'h';
        return;
      default:
    }
  }

  /**
   * Moves the cursor to the start of the next line. Even in raw mode, the terminal driver adds a
   * carriage return to each line feed.
   */
  #lineFeed(): void {
    this.#column = 0;
    this.#row++;
    this.#line();
    if (this.#row >= this.#top + this.#size.rows) this.#top = this.#row - this.#size.rows + 1;
  }

  #down(count: number): void {
    this.#row = Math.min(this.#top + this.#size.rows - 1, this.#row + count);
  }

  #put(text: string, width: number): void {
    if (width === 0) return;
    if (!this.#wraps) this.#column = Math.min(this.#column, this.#size.columns - width);
    if (this.#column + width > this.#size.columns) {
      this.#line().isWrapped = true;
      this.#lineFeed();
    }
    const line = this.#line();
    const { cells } = line;
    line.text = undefined;
    while (cells.length < this.#column) cells.push(' ');
    cells[this.#column] = text;
    for (let extra = 1; extra < width; extra++) cells[this.#column + extra] = '';
    this.#column += width;
  }

  #line(): Line {
    while (this.#lines.length <= this.#row) this.#lines.push(newLine());
    const line = this.#lines[this.#row] ?? newLine();
    this.#lines[this.#row] = line;
    return line;
  }

  #eraseLine(how: number): void {
    const line = this.#line();
    line.isWrapped = false;
    line.text = undefined;
    line.cells.length = how === 2 ? 0 : Math.min(line.cells.length, this.#column);
  }
}

/** The keyboard of the fake terminal. */
export class FakeKeyboard extends PassThrough {
  readonly isTTY = true;
  isRaw = false;

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
