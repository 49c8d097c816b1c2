import { printable } from '../cells/printable.ts';

/** A longer line is read in pieces, so that nobody has to wait for its end. */
const maxPiece = 16_384;

export interface SourceLine {
  readonly text: string;
  /** It goes on where the one before was cut. */
  readonly isRest: boolean;
}

/** Chunks in, lines out: of any line end, and with nothing in them that a terminal would obey. */
export class LineReader {
  /** What can only be read together with what follows: half a line end, half a character. */
  #held = '';
  #open = '';
  #isRest = false;

  /** What has come of the line that is not finished. */
  get open(): SourceLine | undefined {
    const isEnded = this.#held === '\r';
    const text = isEnded ? this.#open : this.#open + printable(this.#held);
    return text === '' && !isEnded ? undefined : { text, isRest: this.#isRest };
  }

  *push(chunk: string): Generator<SourceLine> {
    const text = this.#held + chunk;
    this.#held = /[\r\ud800-\udbff]$/.exec(text)?.[0] ?? '';
    const lines = printable(text.slice(0, text.length - this.#held.length)).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      yield* this.#add(line);
      yield this.#take(this.#open.length);
      this.#isRest = false;
    }
    yield* this.#add(rest);
  }

  /** The last line, if it had no end. */
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
