import { type Delta, type PartId, partId } from '@millrace/core';
import type { StreamItem } from './provider.ts';

/** The delta as if it had been written for this item and attempt. */
export function moveDelta(delta: Delta, item: StreamItem): Delta {
  if (delta.type === 'unknown') return delta;
  const moved = { ...delta, partId: movePartId(delta.partId, item) };
  return 'itemId' in moved ? { ...moved, itemId: item.id } : moved;
}

function movePartId(id: PartId, { turn, attempt }: StreamItem): PartId {
  const [, , ...name] = id.split('.');
  return partId(turn, attempt, name.join('.'));
}
