import type { JsonObject } from '@millrace/core';
import { TextBlock } from '../wire/text-block.ts';
import { type BlockContext, fragmentOf, type OpenBlock, startedInput } from './open-block.ts';

/** The output that was asked for, as the input of the tool that takes it. */
export class OpenOutput implements OpenBlock {
  readonly #start: JsonObject;
  readonly #text: TextBlock;

  constructor({ writer, request }: BlockContext, start: JsonObject) {
    this.#start = start;
    this.#text = new TextBlock(writer, request);
  }

  delta(delta: JsonObject): void {
    this.#text.append(fragmentOf(delta));
  }

  close(): void {
    if (this.#text.length === 0) this.#text.append(startedInput(this.#start) || '{}');
    this.#text.commit();
  }
}
