import type { ItemId, PartId } from '../ids.ts';
import type { FoldState, ItemState, OpenPart, PartSlot } from './fold-state.ts';

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

/** Among the live ones, where all items are that can still grow. */
export function findLiveItem(state: FoldState, id: ItemId): ItemState | undefined {
  return state.live.findLast((item) => item.id === id);
}

export function findItem(state: FoldState, id: ItemId): ItemState | undefined {
  return findLiveItem(state, id) ?? state.past.findLast((item) => item.id === id);
}

/** The item that has the part, open or committed. Reads back from the newest. */
export function findItemOfPart(state: FoldState, id: PartId): ItemState | undefined {
  const has = (item: ItemState) => item.parts.some((slot) => slot.id === id);
  return state.live.findLast(has) ?? state.past.findLast(has);
}

export function findSlot(item: ItemState | undefined, id: PartId): PartSlot | undefined {
  return item?.parts.find((slot) => slot.id === id);
}
