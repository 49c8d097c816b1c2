import type { DeltaWriter, ProviderState, ReasoningWriter } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { type Citation, Citations } from '../wire/citations.ts';
import { TextBlock } from '../wire/text-block.ts';
import type { PartOf } from './model.ts';
import { ownStateOf, stateOf, toJsonValue } from './part-state.ts';

/** A text or reasoning part while it streams. */
interface Block {
  append(chunk: string): void;
  /** Ends the block, because it is complete. `state` is sent back to the provider with the part. */
  end(state: ProviderState | undefined): void;
}

interface OpenBlockEntry<B extends Block> {
  readonly block: B;
  /** The metadata that arrived last. It replaces earlier metadata, as in the SDK itself. */
  metadata: unknown;
}

interface EndedBlock {
  readonly block: Block;
  readonly state: ProviderState | undefined;
}

/**
 * The open blocks of one kind, by the ids of the package. A package can reuse an id. The end of a block is
 * provisional. If a stream was cut off, packages first end its open blocks and report the cut later. The end
 * takes effect when a further part follows, or when the response is complete.
 */
export class OpenBlocks<B extends Block> {
  readonly #owner: StateOwner;
  readonly #create: () => B;
  readonly #open = new Map<string, OpenBlockEntry<B>>();
  #ended: EndedBlock[] = [];

  constructor(owner: StateOwner, create: () => B) {
    this.#owner = owner;
    this.#create = create;
  }

  /** The open block that began last. */
  get latest(): B | undefined {
    return [...this.#open.values()].at(-1)?.block;
  }

  start(id: string, metadata: unknown): void {
    this.end(id, undefined);
    this.settle();
    this.#begin(id).metadata = metadata;
  }

  append(id: string, chunk: string, metadata: unknown): void {
    const open = this.#open.get(id) ?? this.#begin(id);
    if (metadata !== undefined) open.metadata = metadata;
    open.block.append(chunk);
  }

  end(id: string, metadata: unknown): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    this.#ended.push({ block: open.block, state: stateOf(this.#owner, metadata ?? open.metadata) });
  }

  /** Makes the provisional ends of blocks final. */
  settle(): void {
    if (this.#ended.length === 0) return;
    for (const { block, state } of this.#ended) block.end(state);
    this.#ended = [];
  }

  endAll(): void {
    for (const id of [...this.#open.keys()]) this.end(id, undefined);
    this.settle();
  }

  get(id: string): B | undefined {
    return this.#open.get(id)?.block;
  }

  #begin(id: string): OpenBlockEntry<B> {
    const open: OpenBlockEntry<B> = { block: this.#create(), metadata: undefined };
    this.#open.set(id, open);
    return open;
  }
}

/**
 * A text with its citations. The part begins with the first character, so an empty block does not create a
 * part.
 */
export class AnswerText implements Block {
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
    if (this.#citations.add(citation)) this.#text?.sources(() => this.#citations.metadata);
  }

  end(state: ProviderState | undefined): void {
    const isSomething = state !== undefined || !this.#citations.isEmpty;
    if (isSomething) this.#text ??= this.#begin();
    this.#text?.commit({ providerState: state });
  }

  #begin(): TextBlock {
    const text = new TextBlock(this.#writer, this.#request);
    if (!this.#citations.isEmpty) text.sources(() => this.#citations.metadata);
    return text;
  }
}

/**
 * A reasoning part. The part begins immediately, even if no text follows, because the provider must get it
 * back at its position.
 */
export class ReasoningBlock implements Block {
  readonly #owner: StateOwner;
  readonly #part: ReasoningWriter;

  constructor(writer: DeltaWriter, owner: StateOwner) {
    this.#owner = owner;
    this.#part = writer.reasoning();
  }

  append(chunk: string): void {
    this.#part.append(chunk);
  }

  end(state: ProviderState | undefined): void {
    if (this.#part.length > 0) {
      return this.#part.commit({ providerState: state ?? ownStateOf(this.#owner, undefined) });
    }
    if (state === undefined) return this.#part.retract('withdrawn');
    this.#part.replace({ kind: 'reasoning', text: '', form: 'redacted', providerState: state });
  }
}

type Source = PartOf<'source'>;
type CitationOfText = NonNullable<
  Extract<PartOf<'text-end'>, { citations?: unknown }>['citations']
>[number];

/** Adds sources to the current text, or to the next text if no text is open. */
export class Sources {
  /** Sources that arrived before any text. */
  #waiting = new Citations();

  add(source: Source, text: AnswerText | undefined): void {
    const citation = citationOf(source, source);
    if (text === undefined) this.#waiting.add(citation);
    else text.cite(citation);
  }

  /** Returns the sources that arrived before the new text. */
  take(): Citations {
    const taken = this.#waiting;
    this.#waiting = new Citations();
    return taken;
  }

  /** Ends the response. Sources that were not followed by a text become a separate part. */
  end(writer: DeltaWriter): void {
    if (this.#waiting.isEmpty) return;
    writer.whole({ kind: 'custom', name: 'citations', value: this.#waiting.metadata });
  }
}

/** Converts a citation that arrives with the end of a text. */
export function citationOfText(citation: CitationOfText): Citation {
  return citationOf(citation.source, citation);
}

function citationOf(source: Source, raw: object): Citation {
  const url = source.sourceType === 'url' ? source.url : undefined;
  return { url, title: source.title, raw: toJsonValue(raw) ?? null };
}
