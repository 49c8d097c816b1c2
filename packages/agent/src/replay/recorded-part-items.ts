import type { Delta, ItemId, LogRecord, PartId } from '@millrace/core';

/** Which item each part is in. */
export function itemsOfParts(records: readonly LogRecord[]): ReadonlyMap<PartId, ItemId> {
  const items = new Map<PartId, ItemId>();
  for (const { delta } of records) {
    const itemId = delta === undefined ? undefined : itemNamedBy(delta);
    if (itemId !== undefined && delta !== undefined && 'partId' in delta)
      items.set(delta.partId, itemId);
  }
  return items;
}

function itemNamedBy(delta: Delta): ItemId | undefined {
  return 'itemId' in delta ? delta.itemId : undefined;
}
