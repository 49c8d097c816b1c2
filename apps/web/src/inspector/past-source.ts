import type { LiveItem } from '@millrace/client';
import { agentEvents, type FactRecord, type FoldState, type ItemId } from '@millrace/core';
import type { ChatSource } from '../chat/state/chat-source.ts';
import { FactBook } from '../chat/state/fact-book.ts';
import { stateSource } from '../chat/state/state-source.ts';

/** Makes of a moment what the chat shows. Whoever goes on from a moment reads only what is new. */
export class PastSources {
  readonly #blob: ChatSource['blob'];
  #book = new FactBook();
  #read = 0;

  constructor(blob: ChatSource['blob']) {
    this.#blob = blob;
  }

  at(state: FoldState, facts: readonly FactRecord[]): ChatSource {
    // A book only grows: whoever goes back begins a new one.
    if (facts.length < this.#read) {
      this.#book = new FactBook();
      this.#read = 0;
    }
    for (const record of facts.slice(this.#read)) {
      for (const event of agentEvents(state, record, state)) this.#book.add(event);
    }
    this.#read = facts.length;
    return lasting(stateSource({ state, facts: this.#book, blob: this.#blob }));
  }
}

/** A moment does not change, and so what is asked for twice is the same object, also what streams then. */
function lasting(source: ChatSource): ChatSource {
  const items = new Map<ItemId, LiveItem | undefined>();
  return {
    ...source,
    item(id) {
      if (!items.has(id)) items.set(id, source.item(id));
      return items.get(id);
    },
  };
}
