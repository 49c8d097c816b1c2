import { styleText } from 'node:util';
import { Output, type OutputStream } from './output.ts';

export interface NotesOptions {
  readonly hasColor: boolean;
  /** Somebody watches, or wants to hear of everything. */
  readonly isWatched: boolean;
  /** The answer shares the terminal with the notes, and is in the middle of a line. */
  readonly isMidLine: () => boolean;
}

/** What there is to say besides the answer, on standard error. That it cannot be written harms nobody. */
export class Notes {
  readonly #output: Output;
  readonly #options: NotesOptions;

  constructor(stderr: OutputStream, options: NotesOptions) {
    this.#output = new Output(stderr, { name: 'standard error' });
    this.#options = options;
  }

  /** For whoever watches. */
  async aside(text: string): Promise<void> {
    if (this.#options.isWatched) await this.#write(text, 'dim');
  }

  /** For everybody: what went wrong, or has to be known. */
  async say(text: string): Promise<void> {
    await this.#write(text, undefined);
  }

  async #write(text: string, style: 'dim' | undefined): Promise<void> {
    const { hasColor, isMidLine } = this.#options;
    const painted =
      hasColor && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
    await this.#output.write(`${isMidLine() ? '\n' : ''}${painted}\n`);
  }
}
