import type { Paint, Tone } from './terminal-text.ts';

export interface TextStyle {
  readonly tone: Tone;
  /** A text that is printed once, before the text of a block. */
  readonly label: string;
  /** True for answers. An answer is printed even if other text, such as reasoning, has not finished. */
  readonly isAnswer: boolean;
}

/** A text that streams to the screen. */
interface TextBlock {
  readonly style: TextStyle;
  /**
   * The printed text. The code appends to it and rarely reads it, because reading a growing string takes time
   * in proportion to its length.
   */
  shown: string;
  /** Text that is not printed yet. */
  waiting: string;
  /** True if other output was printed after this text. When the text continues, `… ` is printed first. */
  isCut: boolean;
  /** True if no more text will arrive, even if some of the text is not printed yet. */
  isFinished: boolean;
}

interface ScreenOptions {
  readonly paint: Paint;
  /**
   * Maximum length of waiting text of other blocks while the current block adds no text, in characters. If
   * more text waits, the current block is interrupted.
   */
  readonly maxSilentLength: number;
}

/**
 * Maximum length of the waiting text of one block, in characters. If more text waits, the block is printed
 * even if the current block is still active.
 */
const maxWaiting = 16_384;

/**
 * Prints several streaming texts one after the other, on a screen that only scrolls. One block is current.
 * The other blocks wait until the current block finishes or adds no text for a long time. Two texts therefore
 * never share a line.
 */
export class TerminalScreen {
  readonly #options: ScreenOptions;
  readonly #blocks = new Map<string, TextBlock>();
  #current: TextBlock | undefined;
  /** The length of the text of other blocks that arrived since the current block last printed. */
  #waitingLength = 0;
  #isLineStart = true;
  /** The key of the last printed line, if `endLine` may still complete that line. */
  #openLine: string | undefined;
  #out = '';

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  /** Returns the output since the last call of `take`. */
  take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  append(id: string, text: string, style: TextStyle): void {
    if (text === '') return;
    const block = this.#blocks.get(id) ?? this.#addBlock(id, style);
    block.waiting += text;
    this.#current ??= block;
    if (block === this.#current) return this.#print(block);
    this.#waitingLength += text.length;
    const isWanted = style.isAnswer && !this.#current.style.isAnswer;
    const isLong = block.waiting.length > maxWaiting;
    if (isWanted || isLong || this.#waitingLength > this.#options.maxSilentLength)
      this.#print(block);
  }

  /** Returns the whole text of a block, including text that is not printed yet. */
  textOf(id: string): string | undefined {
    const block = this.#blocks.get(id);
    return block && block.shown + block.waiting;
  }

  /** Marks a block as complete. */
  finish(id: string): void {
    const block = this.#blocks.get(id);
    if (block === undefined) return;
    block.isFinished = true;
    if (block === this.#current) this.#removeBlock(id);
    this.#printWaiting();
  }

  /** Removes a block and returns its printed text. The next call of `line` prints before the other blocks. */
  remove(id: string): string {
    const block = this.#blocks.get(id);
    this.#blocks.delete(id);
    if (block !== undefined && block === this.#current) this.#current = undefined;
    return block?.shown ?? '';
  }

  get blockIds(): readonly string[] {
    return [...this.#blocks.keys()];
  }

  /** Prints a separate line. */
  line(tone: Tone, text: string): void {
    this.#breakLine();
    this.#write(tone, `${text}\n`);
    this.#isLineStart = true;
    this.#printWaiting();
  }

  /** Prints the start of a line. `endLine` may complete that line later. */
  beginLine(key: string, tone: Tone, text: string): void {
    this.#breakLine();
    this.#write(tone, text);
    this.#openLine = key;
  }

  /**
   * Completes the line if no other output was printed since `beginLine`. Returns true if it completed the
   * line.
   */
  endLine(key: string, tone: Tone, text: string): boolean {
    if (this.#openLine !== key) return false;
    this.#openLine = undefined;
    this.#write(tone, ` ${text}\n`);
    this.#isLineStart = true;
    return true;
  }

  #addBlock(id: string, style: TextStyle): TextBlock {
    const block = { style, shown: '', waiting: '', isCut: false, isFinished: false };
    this.#blocks.set(id, block);
    return block;
  }

  #print(block: TextBlock): void {
    const text = block.waiting;
    this.#waitingLength = 0;
    if (text === '') return;
    const isBegin = block.shown === '';
    const isSwitch = block !== this.#current;
    if (isBegin || isSwitch || this.#openLine !== undefined) this.#breakLine();
    if (isSwitch && this.#current !== undefined) this.#current.isCut = this.#current.shown !== '';
    this.#current = block;
    this.#write('dim', isBegin ? block.style.label : block.isCut ? '… ' : '');
    this.#write(block.style.tone, text);
    this.#isLineStart = text.endsWith('\n');
    block.shown += text;
    block.waiting = '';
    block.isCut = false;
  }

  /** Prints the waiting blocks in order, up to and including the first block that is not complete. */
  #printWaiting(): void {
    for (const [id, block] of this.#blocks) {
      if (this.#current !== undefined) return;
      this.#print(block);
      if (block.isFinished) this.#removeBlock(id);
    }
  }

  #removeBlock(id: string): void {
    this.#breakLine();
    this.#blocks.delete(id);
    this.#current = undefined;
  }

  #breakLine(): void {
    if (this.#isLineStart) return;
    if (this.#current !== undefined && this.#openLine === undefined) this.#current.isCut = true;
    this.#write('dim', this.#openLine === undefined ? '' : ' …');
    this.#out += '\n';
    this.#openLine = undefined;
    this.#isLineStart = true;
  }

  #write(tone: Tone, text: string): void {
    if (text === '') return;
    this.#out += this.#options.paint(tone, text);
    this.#isLineStart = false;
  }
}
