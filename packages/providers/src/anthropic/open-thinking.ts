import type { JsonObject, ReasoningEndOptions, ReasoningWriter } from '@millrace/core';
import type { BlockContext, OpenBlock } from './open-block.ts';

/** A longer one is kept elsewhere: thinking that is not shown is in its signature, all of it. */
const maxSignatureLength = 2 ** 16;

/** Thinking, and the signature by which the provider knows it again. */
export class OpenThinking implements OpenBlock {
  readonly #context: BlockContext;
  readonly #part: ReasoningWriter;
  /** Only looked at when it is whole. */
  #thinking = '';
  #signature = '';

  constructor(context: BlockContext, start: JsonObject) {
    this.#context = context;
    this.#part = context.writer.reasoning();
    this.delta(start);
  }

  delta({ thinking, signature }: JsonObject): void {
    if (typeof thinking === 'string') this.#append(thinking);
    if (typeof signature === 'string') this.#signature += signature;
  }

  close(): void {
    const signature = this.#signature;
    // What was not well-formed is mended in the part, so that the signature would not fit.
    const isSigned = signature !== '' && this.#thinking.isWellFormed();
    if (isSigned) return this.#part.commit(this.#end(signature));
    return this.#thinking === '' ? this.#part.retract('withdrawn') : this.#part.commit();
  }

  #end(signature: string): ReasoningEndOptions {
    const { state } = this.#context;
    return signature.length > maxSignatureLength
      ? { providerState: state({ signature }) }
      : { signature, providerState: state({}) };
  }

  #append(thinking: string): void {
    this.#thinking += thinking;
    this.#part.append(thinking);
  }
}
