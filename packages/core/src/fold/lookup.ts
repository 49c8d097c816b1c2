import { attemptOf, type ItemId, type PartId } from '../ids.ts';
import type { FoldState, ItemState, OpenPart, PartSlot } from './fold-state.ts';
import { findLast } from './sequence.ts';

/** Where the part is among the open ones; -1 if it is not. The newest are asked first. */
export function indexOfOpen(open: readonly OpenPart[], id: PartId): number {
  for (let index = open.length - 1; index >= 0; index--) {
    if (open[index]?.id === id) return index;
  }
  return -1;
}

export function findOpen(state: FoldState, id: PartId): OpenPart | undefined {
  return state.open[indexOfOpen(state.open, id)];
}

/** Reads back from the newest: items that are spoken of are mostly those. */
export function findItem(state: FoldState, id: ItemId): ItemState | undefined {
  return findLast(state.items, (item) => item.id === id);
}

/** The item that has the part, open or committed. */
export function findItemOfPart(state: FoldState, id: PartId): ItemState | undefined {
  const { turn } = attemptOf(id);
  const has = (item: ItemState) => item.turn === turn && findSlot(item, id) !== undefined;
  return findLast(state.items, has);
}

export function findSlot(item: ItemState | undefined, id: PartId): PartSlot | undefined {
  return item?.parts.find((slot) => slot.id === id);
}
