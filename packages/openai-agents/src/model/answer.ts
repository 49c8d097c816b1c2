import {
  type Delta,
  type Fact,
  Folder,
  type Part,
  type PartId,
  recordVersion,
  sessionId,
  toArray,
} from '@millrace/core';
import { ProviderError, type StreamItem } from '@millrace/providers';
import type { IdentifiedPart } from '../response/to-response.ts';

/** Builds the answer from the deltas of a stream. The deltas are folded like records of a log. */
export class FoldedAnswer {
  readonly #folder = new Folder(sessionId('answer'));
  readonly #provider: string;
  readonly #item: StreamItem;

  constructor(provider: string, item: StreamItem) {
    this.#provider = provider;
    this.#item = item;
    this.#add({ fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } });
  }

  /** Adds a delta. Throws if the delta is invalid, which means that the provider has a bug. */
  add(delta: Delta): void {
    this.#add({ delta });
  }

  /** The parts that are committed until now. Open parts are not included. */
  get parts(): readonly IdentifiedPart[] {
    const [item] = toArray(this.#folder.state.items);
    return (item?.parts ?? []).flatMap(({ id, part }) => (part ? { id, part } : []));
  }

  partOf(id: PartId): Part | undefined {
    return this.parts.find((named) => named.id === id)?.part;
  }

  assertClosed(): void {
    if (this.#folder.state.open.length > 0) throw this.protocolError('parts are open at its end');
  }

  #add(body: { readonly delta: Delta } | { readonly fact: Fact }): void {
    const { turn, attempt } = this.#item;
    const offset = this.#folder.state.through + 1;
    const head = { v: recordVersion, offset, time: 0, turn, attempt, producer: 'model' } as const;
    const folded = this.#folder.add({ ...head, ...body });
    if (folded.outcome === 'gap')
      throw this.protocolError(`a delta does not follow those before it (${folded.gap.code})`);
  }

  protocolError(why: string): ProviderError {
    const provider = this.#provider;
    const message = `Cannot read the stream of ${provider}: ${why}. Fix the provider or its wrapper`;
    return new ProviderError('protocol_error', message, { provider });
  }
}
