import type { OnWork } from '../code/highlight.ts';
import type { Block } from './block.ts';
import { BlockParser } from './block-parser.ts';
import { LineReader } from './line-reader.ts';

/**
 * Markdown as it comes. Whatever the chunks are, the blocks are the same, and a block that was
 * taken never changes: not its text, and not what it means. Code is told line by line, so that a
 * long block need not be waited for.
 */
export class MarkdownStream {
  readonly #onWork: OnWork | undefined;
  #lines = new LineReader();
  #parser: BlockParser;

  constructor(onWork?: OnWork) {
    this.#onWork = onWork;
    this.#parser = new BlockParser(onWork);
  }

  push(chunk: string): void {
    this.#onWork?.(chunk.length + 1);
    for (const line of this.#lines.push(chunk)) this.#parser.line(line);
  }

  /** The blocks that were finished since the last time. */
  take(): readonly Block[] {
    return this.#parser.take();
  }

  /** What has come of the block that is open, as it would be if nothing more came. */
  get tail(): readonly Block[] {
    const parser = this.#parser.copy();
    const line = this.#lines.open;
    if (line !== undefined) parser.line(line);
    parser.end();
    return parser.take();
  }

  /** The rest. After it, the stream is as new. */
  end(): readonly Block[] {
    for (const line of this.#lines.end()) this.#parser.line(line);
    this.#parser.end();
    const rest = this.#parser.take();
    this.#lines = new LineReader();
    this.#parser = new BlockParser(this.#onWork);
    return rest;
  }
}
