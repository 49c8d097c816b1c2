import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ReasoningEndOptions,
  type ReasoningWriter,
} from '@millrace/core';
import { objectsIn, textIn } from '../json/fields.ts';
import { Citations } from '../wire/citations.ts';
import { TextBlock } from '../wire/text-block.ts';
import type { BlockContext, OpenBlock } from './open-block.ts';

/** A text block with its citations. A block without content does not create a part. */
export class OpenText implements OpenBlock {
  readonly #context: BlockContext;
  #text: TextBlock | undefined;
  readonly #citations = new Citations();
  /** The citations in the provider's format. They are sent back together with the text. */
  readonly #cited: JsonObject[] = [];

  constructor(context: BlockContext, start: JsonObject) {
    this.#context = context;
    this.#append(start['text']);
    for (const citation of objectsIn(start, 'citations')) this.#cite(citation);
  }

  delta(delta: JsonObject): void {
    if (delta['type'] === 'text_delta') this.#append(delta['text']);
    else if (isJsonObject(delta['citation'])) this.#cite(delta['citation']);
  }

  reservePosition(): TextBlock {
    this.#text ??= new TextBlock(this.#context.writer, this.#context.textRequest);
    return this.#text;
  }

  close(): void {
    const hasCited = this.#cited.length > 0;
    const providerState = hasCited ? this.#context.state({ citations: this.#cited }) : undefined;
    this.#text?.commit({ providerState });
  }

  #append(text: JsonValue | undefined): void {
    if (typeof text === 'string' && text !== '') this.reservePosition().append(text);
  }

  #cite(citation: JsonObject): void {
    this.#cited.push(citation);
    const url = textIn(citation, 'url') ?? textIn(citation, 'source');
    const title = textIn(citation, 'title') ?? textIn(citation, 'document_title');
    const isNew = this.#citations.add({ url, title, raw: citation });
    if (isNew) this.reservePosition().sources(() => this.#citations.metadata);
  }
}

/**
 * The maximum length of a signature in its own field. A longer signature is stored in the provider state. The
 * signature of hidden thinking is long, because it contains the whole thinking.
 */
const maxSignatureLength = 2 ** 16;

/** A thinking block and its signature. */
export class OpenThinking implements OpenBlock {
  readonly #context: BlockContext;
  readonly #part: ReasoningWriter;
  /**
   * The thinking text received until now. It is read only when it is complete, because reading a growing
   * string copies it.
   */
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
    // The part replaces lone surrogates, so the signature would no longer match the text.
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
