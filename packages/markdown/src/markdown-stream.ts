import type { Block, OnWork } from './block.ts';
import { BlockParser } from './block-parser.ts';
import { LineReader } from './line-reader.ts';

/**
 * Reads Markdown that arrives in chunks. The resulting blocks do not depend on the sizes of the chunks. A
 * block that `take` returned never changes. Code is returned line by line, so that a long code block can be
 * shown before it ends.
 *
 * @example
 * const stream = new MarkdownStream();
 * for await (const chunk of answer) {
 *   stream.push(chunk);
 *   print(stream.take());
 * }
 * print(stream.end());
 */
export class MarkdownStream {
  readonly #onWork: OnWork | undefined;
  #lines = new LineReader();
  #parser: BlockParser;

  constructor(onWork?: OnWork) {
    this.#onWork = onWork;
    this.#parser = new BlockParser(onWork);
  }

  /** Adds a chunk of text. */
  push(chunk: string): void {
    this.#onWork?.(chunk.length + 1);
    for (const line of this.#lines.push(chunk)) this.#parser.line(line);
  }

  /** Returns the blocks that were finished since the last call. */
  take(): readonly Block[] {
    return this.#parser.take();
  }

  /** The unfinished blocks, as if the text ended here. */
  get tail(): readonly Block[] {
    return this.#preview(this.#parser.copy());
  }

  /**
   * Like `tail`, but an incomplete last line does not turn the text before it into a heading. Until this line
   * is complete, it is a separate paragraph. Otherwise, a paragraph would briefly become a heading while the
   * `-` of a list item after it arrives.
   */
  get steadyTail(): readonly Block[] {
    return this.#preview(this.#parser.copy(true));
  }

  /** Ends the text and returns the remaining blocks. After that, the stream can read a new text. */
  end(): readonly Block[] {
    for (const line of this.#lines.end()) this.#parser.line(line);
    this.#parser.end();
    const rest = this.#parser.take();
    this.#lines = new LineReader();
    this.#parser = new BlockParser(this.#onWork);
    return rest;
  }

  #preview(parser: BlockParser): readonly Block[] {
    const line = this.#lines.open;
    if (line !== undefined) parser.line(line);
    parser.end();
    return parser.take();
  }
}
