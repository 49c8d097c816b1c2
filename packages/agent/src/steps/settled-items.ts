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

/** The place of an item that is too large to be passed by value. */
export interface ItemReference {
  readonly by: 'reference';
  readonly itemId: ItemId;
  readonly session: SessionId;
  /** A log offset up to which the log contains the item. */
  readonly through: number;
}

/** Maximum length of an item's JSON, in characters. A longer item becomes a reference. */
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

/** Maximum total length of the items by value, in characters. All further items become references. */
const maxTotal = 256 * 1024;

/** Returns the finished items from the index `first` on, up to the first unfinished item. */
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
