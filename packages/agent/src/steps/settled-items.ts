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

/** An item that is done, small enough to be handed on as it is, or where to find it. */
export type Settled =
  | { readonly by: 'value'; readonly itemId: ItemId; readonly item: JsonObject }
  | ItemReference;

/** Where an item is that is too large to be handed on. */
export interface ItemReference {
  readonly by: 'reference';
  readonly itemId: ItemId;
  readonly session: SessionId;
  /** By this offset the log has it. */
  readonly through: number;
}

/** Of an item's JSON; what is longer is a reference. */
const maxLength = 16 * 1024;

export function settleItem(item: Item, state: FoldState): Settled {
  const json = encodeTranscript([item]);
  const parsed = json.length > maxLength ? undefined : parseJson(json);
  const { items } = (parsed?.ok ? parsed.value : {}) as { readonly items?: readonly JsonObject[] };
  const [value] = items ?? [];
  const itemId = item.id;
  if (value !== undefined) return { by: 'value', itemId, item: value };
  return referenceTo(itemId, state);
}

/** Of all items that are handed on at once: those after it are references. */
const maxTotal = 256 * 1024;

/** The items from one on, as far as all before them are done too. */
export function settledItemsFrom(state: FoldState, first: number): readonly Settled[] {
  const items = toArray(state.items);
  const open = items.findIndex(({ finished }, at) => at >= first && finished === undefined);
  const done = items.slice(first, open === -1 ? undefined : open);
  let left = maxTotal;
  return done.map((item) => {
    const one = settleItem(toItem(item), state);
    if (one.by === 'value') left -= JSON.stringify(one.item).length;
    return left >= 0 ? one : referenceTo(one.itemId, state);
  });
}

export function referenceTo(itemId: ItemId, { session, through }: FoldState): ItemReference {
  return { by: 'reference', itemId, session, through };
}
