import {
  type FoldState,
  type ItemId,
  type ItemState,
  livePart,
  type OpenPart,
  type Part,
  type PartId,
  toArray,
  toItem,
} from '@millrace/core';
import type { LiveItem } from '../contract/task-handle.ts';

/** The items of a session for display. An unchanged item stays the same object. */
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

  /** The ids in order. The array is the same object until an item is added or removed. */
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

  /** Builds the list after any change except an append. It checks all items. */
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

  /** Updates the list after an append. Only streaming parts have grown, so usually only one item changes. */
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

/** The inputs from which a live item was built. If the inputs are equal, the item is reused. */
interface ItemSource {
  readonly state: ItemState;
  /** The streaming parts of the item. */
  readonly open: readonly OpenPart[];
  readonly item: LiveItem;
}

function makeItem(
  state: ItemState,
  open: readonly OpenPart[],
  before: ItemSource | undefined,
): ItemSource {
  if (before?.state === state && isSameList(before.open, open)) return before;
  const shown = state.parts.flatMap(({ id, part: committed }) => {
    const part = committed ?? shownPart(open.find((one) => one.id === id));
    return part === undefined ? [] : [{ id, part }];
  });
  const ids = shown.map(({ id }) => id);
  const known = before?.item.partIds ?? [];
  const item: LiveItem = {
    ...toItem(state),
    parts: shown.map(({ part }) => part),
    partIds: isSameList(known, ids) ? known : ids,
    isOpen: state.finished === undefined,
    startedAt: state.startedAt,
    finishedAt: state.finishedAt,
  };
  return { state, open, item };
}

// Maps an open part to the part for display. Each change creates a new `OpenPart` object, so the object can
// be the key.
const shownParts = new WeakMap<OpenPart, Part>();

function shownPart(open: OpenPart | undefined): Part | undefined {
  if (open === undefined) return undefined;
  const part = shownParts.get(open) ?? livePart(open);
  shownParts.set(open, part);
  return part;
}

function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((entry, index) => entry === b[index]);
}
