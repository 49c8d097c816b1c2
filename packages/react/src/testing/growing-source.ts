import {
  Folder,
  type FoldState,
  type ItemId,
  type LogRecord,
  type Part,
  type PartId,
  sessionId,
} from '@millrace/core';
import type { ChatSource } from '../chat/state/chat-source.ts';
import { FactIndex } from '../chat/state/fact-index.ts';
import { stateSource } from '../inspector/past-source.ts';

/**
 * A chat source to which a test adds records. It counts how often the text of each part is read.
 */
export class GrowingSource implements ChatSource {
  readonly id = 's';
  readonly facts: FactIndex = new FactIndex();
  readonly reads = new Map<PartId, number>();
  readonly #folder = new Folder(sessionId('s'));
  readonly #listeners = new Set<() => void>();
  #source: ChatSource | undefined;
  readonly #watched = new WeakMap<Part, Part>();

  get state(): FoldState {
    return this.#folder.state;
  }

  get itemIds(): readonly ItemId[] {
    return this.#now().itemIds;
  }

  item(id: ItemId): ReturnType<ChatSource['item']> {
    return this.#now().item(id);
  }

  part(id: PartId): Part | undefined {
    const part = this.#now().part(id);
    if (part?.kind !== 'text') return part;
    const { text } = part;
    const note = () => this.reads.set(id, (this.reads.get(id) ?? 0) + 1);
    const watched = this.#watched.get(part) ?? {
      ...part,
      get text() {
        note();
        return text;
      },
    };
    this.#watched.set(part, watched);
    return watched;
  }

  blob(): Promise<Blob> {
    return Promise.reject(new Error('There are no blobs'));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  add(records: readonly LogRecord[]): void {
    for (const record of records) this.#folder.add(record);
    for (const listener of [...this.#listeners]) listener();
  }

  #now(): ChatSource {
    const { state, facts, blob } = this;
    if (this.#source?.state !== state) this.#source = stateSource({ state, facts, blob });
    return this.#source;
  }
}
