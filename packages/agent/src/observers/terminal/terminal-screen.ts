import type { Paint, Tone } from './terminal-text.ts';

export interface TextStyle {
  readonly tone: Tone;
  /** Before its first word. */
  readonly label: string;
  /** What people wait for: it does not wait for what is said aside. */
  readonly isAnswer: boolean;
}

/** Something that is being said, piece by piece. */
interface TextBlock {
  readonly style: TextStyle;
  /** What of it is on the screen. Only ever appended to: to look into a growing text costs its length. */
  shown: string;
  /** What is not yet. */
  waiting: string;
  /** Others spoke since: its next words go on from further up. */
  isCut: boolean;
  /** All is said, and waits to be shown. */
  isFinished: boolean;
}

interface ScreenOptions {
  readonly paint: Paint;
  /** How much others say before a speaker that fell silent loses its place. */
  readonly maxSilentLength: number;
}

/** However busy the speaker is, no more than this waits. */
const maxWaiting = 16_384;

/**
 * Puts what several voices say at once one after the other, on a screen that only goes forward. One
 * speaks, and the others wait until it is done, or silent for long; so that no two are in one line.
 */
export class TerminalScreen {
  readonly #options: ScreenOptions;
  readonly #blocks = new Map<string, TextBlock>();
  #current: TextBlock | undefined;
  /** What others said since the speaker last spoke. */
  #waitingLength = 0;
  #isLineStart = true;
  /** A line that may still get its end. */
  #openLine: string | undefined;
  #out = '';

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  /** What there is to write since this was last asked. */
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

  /** What was said so far, be it on the screen or not. */
  textOf(id: string): string | undefined {
    const block = this.#blocks.get(id);
    return block && block.shown + block.waiting;
  }

  /** It has said all. */
  finish(id: string): void {
    const block = this.#blocks.get(id);
    if (block === undefined) return;
    block.isFinished = true;
    if (block === this.#current) this.#removeBlock(id);
    this.#printWaiting();
  }

  /** It did not say that. Gives what of it is on the screen. The next line comes before others speak. */
  remove(id: string): string {
    const block = this.#blocks.get(id);
    this.#blocks.delete(id);
    if (block !== undefined && block === this.#current) this.#current = undefined;
    return block?.shown ?? '';
  }

  get blockIds(): readonly string[] {
    return [...this.#blocks.keys()];
  }

  /** A line by itself. */
  line(tone: Tone, text: string): void {
    this.#breakLine();
    this.#write(tone, `${text}\n`);
    this.#isLineStart = true;
    this.#printWaiting();
  }

  /** The beginning of a line that `endLine` may complete. */
  beginLine(key: string, tone: Tone, text: string): void {
    this.#breakLine();
    this.#write(tone, text);
    this.#openLine = key;
  }

  /** Completes the line, if nothing was written since. */
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

  /** Shows what waits, until somebody speaks who has not said all. */
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
