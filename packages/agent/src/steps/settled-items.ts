import {
  encodeTranscript,
  type FoldState,
  type Item,
  type ItemId,
  type JsonObject,
  parseJson,
  type SessionId,
  toArray,
  toItem,
} from '@millrace/core';

/** A finished item. A small item is passed by value, and a large one by reference. */
export type FinishedItem =
  | { readonly by: 'value'; readonly itemId: ItemId; readonly item: JsonObject }
  | ItemReference;

/** A reference to an item that is too large to be passed by value. */
export interface ItemReference {
  readonly by: 'reference';
  readonly itemId: ItemId;
  readonly session: SessionId;
  /** A log offset at which the log already contains the complete item. */
  readonly through: number;
}

/** Maximum length of an item's JSON, in characters. A longer item is passed as a reference. */
const maxLength = 16 * 1024;

export function settleItem(item: Item, state: FoldState): FinishedItem {
  const json = encodeTranscript([item]);
  const parsed = json.length > maxLength ? undefined : parseJson(json);
  const { items } = (parsed?.ok ? parsed.value : {}) as { readonly items?: readonly JsonObject[] };
  const [value] = items ?? [];
  const itemId = item.id;
  if (value !== undefined) return { by: 'value', itemId, item: value };
  return referenceTo(itemId, state);
}

/**
 * Maximum total length of the items that are passed by value, in characters. All further items are passed as
 * references.
 */
const maxTotal = 256 * 1024;

/** Returns the finished items, starting at the index `first` and ending before the first unfinished item. */
export function settledItemsFrom(state: FoldState, first: number): readonly FinishedItem[] {
  const items = toArray(state.items);
  const open = items.findIndex(({ finished }, at) => at >= first && finished === undefined);
  const done = items.slice(first, open === -1 ? undefined : open);
  let remaining = maxTotal;
  return done.map((item) => {
    const one = settleItem(toItem(item), state);
    if (one.by === 'value') remaining -= JSON.stringify(one.item).length;
    return remaining >= 0 ? one : referenceTo(one.itemId, state);
  });
}

export function referenceTo(itemId: ItemId, { session, through }: FoldState): ItemReference {
  return { by: 'reference', itemId, session, through };
}
