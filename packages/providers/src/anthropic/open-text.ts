import type { JsonObject, JsonValue } from '@millrace/core';
import { isObject, objectsIn, textIn } from '../json/fields.ts';
import { Citations } from '../wire/citations.ts';
import { TextBlock } from '../wire/text-block.ts';
import type { BlockContext, OpenBlock } from './open-block.ts';

/** Text, with where it is from. A block in which nothing comes is no part. */
export class OpenText implements OpenBlock {
  readonly #context: BlockContext;
  #text: TextBlock | undefined;
  readonly #citations = new Citations();
  /** As they came: they go back with the text. */
  readonly #cited: JsonObject[] = [];

  constructor(context: BlockContext, start: JsonObject) {
    this.#context = context;
    this.#append(start['text']);
    for (const citation of objectsIn(start, 'citations')) this.#cite(citation);
  }

  delta(delta: JsonObject): void {
    if (delta['type'] === 'text_delta') this.#append(delta['text']);
    else if (isObject(delta['citation'])) this.#cite(delta['citation']);
  }

  begin(): TextBlock {
    this.#text ??= new TextBlock(this.#context.writer, this.#context.textRequest);
    return this.#text;
  }

  close(): void {
    const hasCited = this.#cited.length > 0;
    const providerState = hasCited ? this.#context.state({ citations: this.#cited }) : undefined;
    this.#text?.commit({ providerState });
  }

  #append(text: JsonValue | undefined): void {
    if (typeof text === 'string' && text !== '') this.begin().append(text);
  }

  #cite(citation: JsonObject): void {
    this.#cited.push(citation);
    const url = textIn(citation, 'url') ?? textIn(citation, 'source');
    const title = textIn(citation, 'title') ?? textIn(citation, 'document_title');
    const isNew = this.#citations.add({ url, title, raw: citation });
    if (isNew) this.begin().metadata(this.#citations.metadata);
  }
}
