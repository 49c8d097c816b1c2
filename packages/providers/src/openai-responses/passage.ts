import type { DeltaWriter, JsonObject, ProviderState } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';
import { Citations } from '../wire/citations.ts';
import { TextBlock } from '../wire/text-block.ts';
import { StreamedText } from './streamed-text.ts';

/** One piece of a message's content: an answer with its sources, or a refusal. */
export class Passage {
  readonly isRefusal: boolean;
  readonly #writer: DeltaWriter;
  readonly #request: ModelRequest;
  readonly #text: StreamedText<TextBlock> = new StreamedText(() => this.#begin());
  #citations = new Citations();

  constructor(writer: DeltaWriter, request: ModelRequest, isRefusal: boolean) {
    this.#writer = writer;
    this.#request = request;
    this.isRefusal = isRefusal;
  }

  get isEmpty(): boolean {
    return this.#text.sink === undefined;
  }

  append(chunk: string): void {
    this.#text.append(chunk);
  }

  settle(whole: string): void {
    this.#text.settle(whole);
  }

  /** Does this say the same, and name no other sources? */
  agrees(whole: string, part: JsonObject): boolean {
    const sources = new Set(
      objectsIn(this.#citations.metadata, 'citations').map(({ raw }) => JSON.stringify(raw)),
    );
    const isKnown = (annotation: JsonObject) => sources.has(JSON.stringify(annotation));
    return this.#text.agrees(whole) && objectsIn(part, 'annotations').every(isKnown);
  }

  cite(annotation: JsonObject): void {
    if (add(this.#citations, annotation)) this.#text.sink?.metadata(this.#citations.metadata);
  }

  /** All sources, where the end of a message names them again. */
  settleCitations(part: JsonObject): void {
    const said = new Citations();
    for (const annotation of objectsIn(part, 'annotations')) add(said, annotation);
    if (said.isEmpty) return;
    const isKnown = JSON.stringify(said.metadata) === JSON.stringify(this.#citations.metadata);
    this.#citations = said;
    if (!isKnown) this.#text.sink?.metadata(said.metadata);
  }

  commit(providerState: ProviderState): void {
    this.#text.commit({ providerState });
  }

  retract(): void {
    this.#text.retract('withdrawn');
  }

  #begin(): TextBlock {
    // A refusal is never the output that was asked for.
    const block = new TextBlock(this.#writer, this.isRefusal ? { items: [] } : this.#request);
    if (this.isRefusal) block.metadata({ refusal: true });
    else if (!this.#citations.isEmpty) block.metadata(this.#citations.metadata);
    return block;
  }
}

function add(citations: Citations, annotation: JsonObject): boolean {
  // Some servers wrap a citation as Chat Completions does.
  const source = objectIn(annotation, 'url_citation') ?? annotation;
  const title = textIn(source, 'title') ?? textIn(source, 'filename');
  return citations.add({ url: textIn(source, 'url'), title, raw: annotation });
}
