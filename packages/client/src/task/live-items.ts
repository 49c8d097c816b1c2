import {
  type FoldState,
  type ItemId,
  type OpenPart,
  type Part,
  type PartId,
  toArray,
} from '@millrace/core';
import { type ItemSource, isSameList, type LiveItem, makeItem } from './live-item.ts';

/** The items of a session as a screen shows them. What did not change is the same object each time. */
export class LiveItems {
  #state: FoldState | undefined;
  #list: readonly LiveItem[] = [];
  #ids: readonly ItemId[] = [];
  #sources = new Map<ItemId, ItemSource>();
  #places = new Map<ItemId, number>();
  #itemOfPart = new Map<PartId, ItemId>();

  get list(): readonly LiveItem[] {
    return this.#list;
  }

  /** In order; the same list until an item comes or goes. */
  get ids(): readonly ItemId[] {
    return this.#ids;
  }

  find(id: ItemId): LiveItem | undefined {
    return this.#sources.get(id)?.item;
  }

  findPart(id: PartId): Part | undefined {
    const itemId = this.#itemOfPart.get(id);
    const item = itemId === undefined ? undefined : this.find(itemId);
    return item?.parts[item.partIds.indexOf(id)];
  }

  read(state: FoldState): void {
    const before = this.#state;
    this.#state = state;
    if (before?.items !== state.items) this.#build(state);
    else if (before.open !== state.open) this.#grow(before, state);
  }

  /** Something else than appends: all items are looked at. */
  #build(state: FoldState): void {
    const open = Map.groupBy(state.open, ({ begin }) => begin.itemId);
    const sources = toArray(state.items).map((item) =>
      makeItem(item, open.get(item.id) ?? [], this.#sources.get(item.id)),
    );
    const list = sources.map(({ item }) => item);
    const ids = list.map(({ id }) => id);
    if (!isSameList(this.#list, list)) this.#list = list;
    if (!isSameList(this.#ids, ids)) this.#ids = ids;
    this.#sources = new Map(sources.map((source) => [source.item.id, source]));
    this.#places = new Map(ids.map((id, place) => [id, place]));
    this.#itemOfPart = new Map(
      list.flatMap(({ id, partIds }) => partIds.map((part) => [part, id] as const)),
    );
  }

  /** What streams has grown, and nothing else: most of the time it is one item. */
  #grow(before: FoldState, state: FoldState): void {
    const known = new Set<OpenPart>(before.open);
    const grown = state.open.filter((part) => !known.has(part));
    const list = [...this.#list];
    for (const itemId of new Set(grown.map(({ begin }) => begin.itemId))) {
      const source = this.#sources.get(itemId);
      const place = this.#places.get(itemId);
      if (source === undefined || place === undefined) continue;
      const open = state.open.filter(({ begin }) => begin.itemId === itemId);
      const next = makeItem(source.state, open, source);
      this.#sources.set(itemId, next);
      list[place] = next.item;
    }
    if (!isSameList(this.#list, list)) this.#list = list;
  }
}
