/**
 * Maximum length of a piece. A longer line is read in several pieces, so that a view can show its start
 * before its end arrives.
 */
const maxPiece = 16_384;

/** A line of the source, or a piece of a long line. */
export interface SourceLine {
  readonly text: string;
  /** True if this piece continues the previous piece. */
  readonly isRest: boolean;
}

/** Splits chunks of text into lines. It accepts all kinds of line ends. Lone surrogates become U+FFFD. */
export class LineReader {
  /**
   * A carriage return or high surrogate at the end of the last chunk. The next character decides its
   * meaning.
   */
  #held = '';
  #open = '';
  #isRest = false;

  /** The line that is not complete yet. Undefined if there is no such line. */
  get open(): SourceLine | undefined {
    const isEnded = this.#held === '\r';
    const text = isEnded ? this.#open : this.#open + this.#held.toWellFormed();
    return text === '' && !isEnded ? undefined : { text, isRest: this.#isRest };
  }

  *push(chunk: string): Generator<SourceLine> {
    const text = this.#held + chunk;
    this.#held = /[\r\ud800-\udbff]$/.exec(text)?.[0] ?? '';
    const complete = text.slice(0, text.length - this.#held.length).toWellFormed();
    const lines = complete.split(/\r\n|\r|\n/);
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      yield* this.#add(line);
      yield this.#take(this.#open.length);
      this.#isRest = false;
    }
    yield* this.#add(rest);
  }

  /** Returns the last line if it has no line end. */
  *end(): Generator<SourceLine> {
    const held = this.#held;
    this.#held = '';
    if (held !== '') yield* this.push(held === '\r' ? '\n' : '\ufffd');
    if (this.#open !== '') yield this.#take(this.#open.length);
    this.#isRest = false;
  }

  *#add(text: string): Generator<SourceLine> {
    this.#open += text;
    while (this.#open.length > maxPiece) {
      const cutsPair = /[\ud800-\udbff]/.test(this.#open.charAt(maxPiece - 1));
      yield this.#take(cutsPair ? maxPiece - 1 : maxPiece);
      this.#isRest = true;
    }
  }

  #take(length: number): SourceLine {
    const line = { text: this.#open.slice(0, length), isRest: this.#isRest };
    this.#open = this.#open.slice(length);
    return line;
  }
}

const tabStop = 4;

/** Replaces the tabs of a line with spaces, because the structure of a document depends on columns. */
export function expandTabs(line: string): string {
  const [first = '', ...rest] = line.split('\t');
  return rest.reduce(
    (before, piece) => before + ' '.repeat(tabStop - (before.length % tabStop)) + piece,
    first,
  );
}

/**
 * Returns the part of a line from a column on, with its tabs. The width of a tab depends on its column. A tab
 * in the indentation becomes spaces if its width would change.
 */
export function fromColumn(line: string, column: number): string {
  if (!line.includes('\t')) return line.slice(column);
  const isShifted = column % tabStop !== 0;
  let at = 0;
  let reached = 0;
  while (reached < column || (isShifted && /^[ \t]$/.test(line.charAt(at)))) {
    reached += line.charAt(at) === '\t' ? tabStop - (reached % tabStop) : 1;
    at++;
  }
  return ' '.repeat(reached - column) + line.slice(at);
}
