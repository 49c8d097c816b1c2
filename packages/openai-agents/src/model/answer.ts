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
import type { NamedPart } from '../response/to-response.ts';

/** What a stream's deltas build, folded as a log would. */
export class Answer {
  readonly #folder = new Folder(sessionId('answer'));
  readonly #provider: string;
  readonly #item: StreamItem;

  constructor(provider: string, item: StreamItem) {
    this.#provider = provider;
    this.#item = item;
    this.#add({ fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } });
  }

  /** Throws for what no log would take: a broken provider's. */
  add(delta: Delta): void {
    this.#add({ delta });
  }

  /** As far as it came; parts that are open are not in it. */
  get parts(): readonly NamedPart[] {
    const [item] = toArray(this.#folder.state.items);
    return (item?.parts ?? []).flatMap(({ id, part }) => (part ? { id, part } : []));
  }

  partOf(id: PartId): Part | undefined {
    return this.parts.find((named) => named.id === id)?.part;
  }

  assertClosed(): void {
    if (this.#folder.state.open.length > 0) throw this.broken('parts are open at its end');
  }

  #add(body: { readonly delta: Delta } | { readonly fact: Fact }): void {
    const { turn, attempt } = this.#item;
    const offset = this.#folder.state.through + 1;
    const head = { v: recordVersion, offset, time: 0, turn, attempt, producer: 'model' } as const;
    const folded = this.#folder.add({ ...head, ...body });
    if (folded.outcome === 'gap')
      throw this.broken(`a delta does not follow those before it (${folded.gap.code})`);
  }

  broken(why: string): ProviderError {
    const provider = this.#provider;
    const message = `Cannot read the stream of ${provider}: ${why}. Mend the provider or its wrapper`;
    return new ProviderError('protocol_error', message, { provider });
  }
}
