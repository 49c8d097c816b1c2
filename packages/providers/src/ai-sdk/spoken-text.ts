import type { DeltaWriter, ProviderState } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { type Citation, Citations } from '../wire/citations.ts';
import { TextBlock } from '../wire/text-block.ts';
import type { Block } from './blocks.ts';

/** Text with its sources. It begins with its first character, so that an empty one is none. */
export class SpokenText implements Block {
  readonly #writer: DeltaWriter;
  readonly #request: ModelRequest;
  readonly #citations: Citations;
  #text: TextBlock | undefined;

  constructor(writer: DeltaWriter, request: ModelRequest, citations: Citations = new Citations()) {
    this.#writer = writer;
    this.#request = request;
    this.#citations = citations;
  }

  append(chunk: string): void {
    if (chunk === '') return;
    this.#text ??= this.#begin();
    this.#text.append(chunk);
  }

  cite(citation: Citation): void {
    if (this.#citations.add(citation)) this.#text?.metadata(this.#citations.metadata);
  }

  end(state: ProviderState | undefined): void {
    const isSomething = state !== undefined || !this.#citations.isEmpty;
    if (isSomething) this.#text ??= this.#begin();
    this.#text?.commit({ providerState: state });
  }

  #begin(): TextBlock {
    const text = new TextBlock(this.#writer, this.#request);
    if (!this.#citations.isEmpty) text.metadata(this.#citations.metadata);
    return text;
  }
}
