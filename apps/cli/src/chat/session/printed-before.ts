import type { Block } from '../state/block.ts';

/** A screen never shows more of it. */
const maxBlocks = 256;

/** What a session had printed before the chat began: the last of it, and how much there was. */
export class PrintedBefore {
  readonly #through: number;
  #blocks: readonly Block[] = [];
  #count = 0;

  /** `through`: the last record that was there when the chat began. */
  constructor(through: number) {
    this.#through = through;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get count(): number {
    return this.#count;
  }

  /** True where that was all. */
  add(blocks: readonly Block[], through: number): boolean {
    this.#blocks = [...this.#blocks, ...blocks].slice(-maxBlocks);
    this.#count += blocks.length;
    return through >= this.#through;
  }
}
