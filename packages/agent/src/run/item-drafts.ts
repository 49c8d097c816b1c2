import {
  DeltaWriter,
  type DraftRecord,
  type FoldState,
  type Ids,
  type Item,
  type ItemId,
  toArray,
} from '@millrace/core';

/** Items under ids that the session does not have yet: two that are alike would be one. */
export function withFreshIds(items: readonly Item[], state: FoldState, ids: Ids): readonly Item[] {
  const used = new Set(toArray(state.items).map(({ id }) => id));
  return items.map((item) => {
    const id = used.has(item.id) ? ids.item() : item.id;
    used.add(id);
    return id === item.id ? item : { ...item, id };
  });
}

/** The first id that is used already, by the session or by another of the items. */
export function usedId(items: readonly Item[], state: FoldState): ItemId | undefined {
  const used = new Set(toArray(state.items).map(({ id }) => id));
  return items.find(({ id }) => used.has(id) || !used.add(id))?.id;
}

/** Items that came whole, as records outside of any turn. */
export function itemDrafts(items: readonly Item[], ids: Pick<Ids, 'part'>): readonly DraftRecord[] {
  return items.flatMap((item) => draftsOf(item, ids));
}

function draftsOf(item: Item, ids: Pick<Ids, 'part'>): readonly DraftRecord[] {
  const { id: itemId, kind, author, metadata, stop, parts } = item;
  const at = { turn: 0, attempt: 0 };
  const writer = new DeltaWriter({ itemId, ...at, ids });
  for (const part of parts) writer.whole(part);
  const known = { ...(author && { author }), ...(metadata && { metadata }) };
  return [
    { ...at, fact: { type: 'item_started', itemId, kind, ...known } },
    ...writer.take().map((delta): DraftRecord => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId, ...(stop && { stop }) } },
  ];
}
