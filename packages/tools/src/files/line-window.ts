export interface Line {
  readonly text: string;
  /** How many bytes of it are not in the text. */
  readonly clippedBytes: number;
  readonly ending: '\r\n' | '\n' | '';
}

export interface WindowOptions {
  /** The first line to keep, counted from 1, and how many. */
  readonly first: number;
  readonly count: number;
  /** Of a line. */
  readonly maxLineLength: number;
  /** Of all lines together. */
  readonly maxLength: number;
  /** A kept line that is longer is not followed to its end, and the lines after it are not found. */
  readonly maxLineBytes: number;
}

/** What was kept, as far as bytes came. */
export interface Kept {
  readonly lines: readonly Line[];
  /** How many lines began, kept or not. */
  readonly lineCount: number;
  /** Why it wants no more bytes, though more came. */
  readonly stop: 'count' | 'length' | 'endless_line' | undefined;
}

const newline = 10;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Finds some lines in bytes that come piece by piece, and holds no more than it keeps. */
export class LineWindow {
  readonly #options: WindowOptions;
  readonly #lines: Line[] = [];
  #lineCount = 0;
  #length = 0;
  #stop: Kept['stop'];
  /** The line that has begun and not ended: its start, and how long it is. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #lineBytes = 0;
  #isOpen = false;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  /** False when it has what it wants. */
  take(bytes: Uint8Array): boolean {
    for (let start = 0; start < bytes.length && this.#stop === undefined; ) {
      if (!this.#isOpen && !this.#begin()) break;
      const end = bytes.indexOf(newline, start);
      const next = end < 0 ? bytes.length : end + 1;
      this.#hold(bytes.subarray(start, next));
      if (end >= 0) this.#finish();
      else this.#giveUpIfEndless();
      start = next;
    }
    return this.#stop === undefined;
  }

  /** What it has. A line without an end counts as one. */
  end(): Kept {
    if (this.#isOpen) this.#finish();
    return { lines: this.#lines, lineCount: this.#lineCount, stop: this.#stop };
  }

  get #isWanted(): boolean {
    return this.#lineCount >= this.#options.first;
  }

  /** Asked when a byte of another line is there, so that its answer tells whether more follows. */
  #begin(): boolean {
    const { count, maxLength } = this.#options;
    if (this.#lines.length >= count) this.#stop = 'count';
    else if (this.#length >= maxLength) this.#stop = 'length';
    else {
      this.#isOpen = true;
      this.#lineCount++;
    }
    return this.#isOpen;
  }

  #hold(piece: Uint8Array): void {
    this.#lineBytes += piece.length;
    if (!this.#isWanted) return;
    // At most four bytes a character, and a few for the ending.
    const room = this.#options.maxLineLength * 4 + 8 - this.#heldBytes;
    if (room > 0) {
      // A copy, because the pieces are of one buffer that is filled again.
      this.#held.push(piece.slice(0, room));
      this.#heldBytes += Math.min(room, piece.length);
    }
  }

  #giveUpIfEndless(): void {
    if (!this.#isWanted || this.#lineBytes <= this.#options.maxLineBytes) return;
    this.#finish();
    this.#stop = 'endless_line';
  }

  #finish(): void {
    if (this.#isWanted) this.#keep();
    this.#held = [];
    this.#heldBytes = 0;
    this.#lineBytes = 0;
    this.#isOpen = false;
  }

  #keep(): void {
    const raw = decoder.decode(Buffer.concat(this.#held));
    const isWhole = this.#heldBytes === this.#lineBytes;
    const ending = isWhole ? (/\r?\n$/.exec(raw)?.[0] ?? '') : '';
    const text = clip(raw.slice(0, raw.length - ending.length), this.#options.maxLineLength);
    const clippedBytes = Math.max(0, this.#lineBytes - ending.length - Buffer.byteLength(text));
    const isClipped = !isWhole || text.length + ending.length < raw.length;
    this.#lines.push({
      text,
      clippedBytes: isClipped ? clippedBytes : 0,
      ending: ending as Line['ending'],
    });
    this.#length += text.length;
  }
}

function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  // Not in the middle of a character of two halves.
  return text.slice(
    0,
    text.codePointAt(length - 1) === text.charCodeAt(length - 1) ? length : length - 1,
  );
}
