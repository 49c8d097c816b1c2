import type { LiveItem } from '@millrace/client';
import {
  agentEvents,
  type FactRecord,
  type FoldState,
  findItem,
  findItemOfPart,
  type ItemId,
  type ItemState,
  isCut,
  livePart,
  type OpenPart,
  type Part,
  type PartId,
  toArray,
  toItem,
} from '@millrace/core';
import type { ChatSource } from '../chat/state/chat-source.ts';
import { type ChatFacts, FactIndex } from '../chat/state/fact-index.ts';

/**
 * Creates chat sources that show a session at an earlier moment. If a moment is later than the
 * previously requested one, the factory processes only the new facts.
 */
export class PastSourceFactory {
  readonly #blob: ChatSource['blob'];
  #book = new FactIndex();
  #read = 0;

  constructor(blob: ChatSource['blob']) {
    this.#blob = blob;
  }

  /**
   * Returns the source for a moment. In a long session, the state can lack the items of earlier
   * runs. In this case the source takes them from `live`.
   */
  at(state: FoldState, facts: readonly FactRecord[], live?: ChatSource): ChatSource {
    // A fact index cannot remove facts, so an earlier moment needs a new index.
    if (facts.length < this.#read) {
      this.#book = new FactIndex();
      this.#read = 0;
    }
    for (const record of facts.slice(this.#read)) {
      for (const event of agentEvents(state, record, state)) this.#book.add(event);
    }
    this.#read = facts.length;
    const source = stateSource({ state, facts: this.#book, blob: this.#blob });
    const isCutState = live !== undefined && isCut(state.items);
    return memoized(isCutState ? withEarlierItems(source, live) : source);
  }
}

/**
 * Adds the finished items of earlier runs from `live` to a source. These items do not change later,
 * except by a redaction.
 */
function withEarlierItems(source: ChatSource, live: ChatSource): ChatSource {
  const own = new Set(source.itemIds);
  const first = source.itemIds[0] && source.item(source.itemIds[0])?.startedAt;
  const at = live.itemIds.findIndex(
    (id) => own.has(id) || (first !== undefined && (live.item(id)?.startedAt ?? 0) >= first),
  );
  const earlier = at < 0 ? [] : live.itemIds.slice(0, at);
  return {
    ...source,
    itemIds: [...earlier, ...source.itemIds],
    item: (id) => source.item(id) ?? live.item(id),
    part: (id) => source.part(id) ?? live.part(id),
  };
}

/**
 * Caches the items of a source, so that `item` returns the same object for an id each time. The
 * cache includes items that were incomplete at this moment.
 */
function memoized(source: ChatSource): ChatSource {
  const items = new Map<ItemId, LiveItem | undefined>();
  return {
    ...source,
    item(id) {
      if (!items.has(id)) items.set(id, source.item(id));
      return items.get(id);
    },
  };
}

interface StateSourceOptions {
  readonly state: FoldState;
  /** The facts up to the same record. */
  readonly facts: ChatFacts;
  readonly blob: ChatSource['blob'];
}

/** Creates a chat source for the state of a task at a record. The source never changes. */
export function stateSource({ state, facts, blob }: StateSourceOptions): ChatSource {
  const itemIds = toArray(state.items).map(({ id }) => id);
  const openOf = (id: PartId) => state.open.find((open) => open.id === id);
  const partOf = (item: ItemState | undefined, id: PartId) =>
    item?.parts.find((slot) => slot.id === id)?.part ?? livePartOf(openOf(id));
  const streaming = new Map<ItemId, LiveItem>();
  return {
    ...{ id: state.session, subscribe: () => () => {}, itemIds, state, facts, blob },
    item(id: ItemId) {
      const item = findItem(state, id);
      if (item === undefined) return undefined;
      const live = streaming.get(id) ?? itemAt(item, partOf);
      // An item with an incomplete part differs between moments, so it is cached only for this
      // moment.
      if (items.get(item) !== live) streaming.set(id, live);
      return live;
    },
    part: (id: PartId) => partOf(findItemOfPart(state, id), id),
  };
}

// Caches the items and parts of all moments. An unchanged item is the same object at two moments,
// so only the differences render.
const items = new WeakMap<ItemState, LiveItem>();
const parts = new WeakMap<OpenPart, Part>();

function livePartOf(open: OpenPart | undefined): Part | undefined {
  if (open === undefined) return undefined;
  const part = parts.get(open) ?? livePart(open);
  parts.set(open, part);
  return part;
}

function itemAt(
  item: ItemState,
  partOf: (item: ItemState, id: PartId) => Part | undefined,
): LiveItem {
  const known = items.get(item);
  if (known !== undefined) return known;
  const all = item.parts.flatMap(({ id }) => {
    const part = partOf(item, id);
    return part === undefined ? [] : [{ id, part }];
  });
  const live: LiveItem = {
    ...toItem(item),
    parts: all.map(({ part }) => part),
    partIds: all.map(({ id }) => id),
    isOpen: item.finished === undefined,
    startedAt: item.startedAt,
    finishedAt: item.finishedAt,
  };
  if (item.parts.every(({ part }) => part !== undefined)) items.set(item, live);
  return live;
}
