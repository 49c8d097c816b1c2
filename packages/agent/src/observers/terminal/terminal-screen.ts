import type { Paint, Tone } from './terminal-text.ts';

export interface TextStyle {
  readonly tone: Tone;
  /** A text that is printed before the first text of a block. */
  readonly label: string;
  /** True for answers. They are printed before other text, such as reasoning, has finished. */
  readonly isAnswer: boolean;
}

/** A text that streams to the screen. */
interface TextBlock {
  readonly style: TextStyle;
  /**
   * The printed text. It is only appended to and rarely read, because reading a growing string costs as
   * much as its length.
   */
  shown: string;
  /** Text that is not printed yet. */
  waiting: string;
  /** True if other output was printed after this text. The next text then continues after `… `. */
  isCut: boolean;
  /** True if the text is complete, even if some of it is not printed yet. */
  isFinished: boolean;
}

interface ScreenOptions {
  readonly paint: Paint;
  /**
   * How much text of other blocks may wait, in characters. If more waits and the current block adds
   * nothing, that block is interrupted.
   */
  readonly maxSilentLength: number;
}

/**
 * Maximum waiting text of one block, in characters. If more waits, the block is printed, whatever the
 * current block does.
 */
const maxWaiting = 16_384;

/**
 * Prints several streaming texts one after the other, on a screen that only scrolls. One block is
 * current. The others wait until it finishes or prints nothing for long, so two texts never share a line.
 */
export class TerminalScreen {
  readonly #options: ScreenOptions;
  readonly #blocks = new Map<string, TextBlock>();
  #current: TextBlock | undefined;
  /** The length of other blocks' text that arrived after the current block last printed. */
  #waitingLength = 0;
  #isLineStart = true;
  /** The key of a line that `endLine` may still complete. */
  #openLine: string | undefined;
  #out = '';

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  /** Returns the new output and clears it. */
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

  /** Returns the whole text of a block, printed or not. */
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

  /** Removes a block and returns its printed text. The next call of `line` prints before other blocks. */
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

  /** Prints the start of a line that `endLine` may complete. */
  beginLine(key: string, tone: Tone, text: string): void {
    this.#breakLine();
    this.#write(tone, text);
    this.#openLine = key;
  }

  /** Completes the line if no other output was printed since `beginLine`. Returns true if it did. */
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

  /** Prints waiting blocks, up to the first one that is not complete. */
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
