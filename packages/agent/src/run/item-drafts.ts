import { DeltaWriter, type DraftRecord, type Ids, type Item } from '@millrace/core';

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
