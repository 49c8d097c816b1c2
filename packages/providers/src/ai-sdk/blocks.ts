import type { ProviderState } from '@millrace/core';
import type { Owner } from '../history/own-parts.ts';
import { stateOf } from './provider-state.ts';

/** Text or reasoning that streams. */
export interface Block {
  append(chunk: string): void;
  /** It is whole. `state` is what goes back with it. */
  end(state: ProviderState | undefined): void;
}

interface OpenBlock<B extends Block> {
  readonly block: B;
  /** The last that came counts, as it does for whoever the packages are made for. */
  metadata: unknown;
}

interface EndedBlock {
  readonly block: Block;
  readonly state: ProviderState | undefined;
}

/**
 * The blocks of one kind by the ids that the package gives them, which it may use again. An end is not
 * yet sure: packages also end what a cut stream left open, before they say that it was cut. So it
 * counts when something follows, or when the response turns out to be complete.
 */
export class Blocks<B extends Block> {
  readonly #owner: Owner;
  readonly #create: () => B;
  readonly #open = new Map<string, OpenBlock<B>>();
  #ended: EndedBlock[] = [];

  constructor(owner: Owner, create: () => B) {
    this.#owner = owner;
    this.#create = create;
  }

  /** The one that began last, of those that are open. */
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

  /** What has ended is whole. */
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

  #begin(id: string): OpenBlock<B> {
    const open: OpenBlock<B> = { block: this.#create(), metadata: undefined };
    this.#open.set(id, open);
    return open;
  }
}
