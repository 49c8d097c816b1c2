import { attemptOf, type FoldState, findOpen, type ItemState, type PartId } from '@millrace/core';
import { isIndexed, type MessagePlace, placesOf } from './message-place.ts';

/**
 * The index of a message in its turn: the agent's own, where it gave one; else its place among the
 * others. Outside of turns there is none. It is taken from the state alone, so that whoever comes back
 * is told the same.
 */
export function indexOfPlace(state: FoldState, place: MessagePlace): number | null {
  const { item, slots, isFirst } = place;
  const [{ id, part }] = slots;
  const own = (part ?? findOpen(state, id))?.metadata?.['index'];
  if (isIndexed(item) && typeof own === 'number') return own;
  if (isIndexed(item) && isFirst) return item.metadata?.['index'] as number;
  return item.turn === 0 ? null : (ordinalsOf(state, item.turn).get(id) ?? null);
}

interface Ordinals {
  readonly turn: number;
  readonly gone: FoldState['gone'];
  readonly byId: ReadonlyMap<PartId, number>;
}

// While text streams, neither the items nor what is gone change.
const known = new WeakMap<FoldState['items'], Ordinals>();

function ordinalsOf(state: FoldState, turn: number): ReadonlyMap<PartId, number> {
  const last = known.get(state.items);
  if (last !== undefined && last.turn === turn && last.gone === state.gone) return last.byId;
  const byId = countOrdinals(state, turn);
  known.set(state.items, { turn, gone: state.gone, byId });
  return byId;
}

/** What was taken back keeps its number, so that no index is used twice. */
function countOrdinals(state: FoldState, turn: number): ReadonlyMap<PartId, number> {
  const items = itemsOfTurn(state, turn);
  const taken = new Set(items.map(({ metadata }) => metadata?.['index']));
  let next = [...state.gone].filter((id) => attemptOf(id).turn === turn).length;
  const byId = new Map<PartId, number>();
  for (const { slots } of items.flatMap((item) => placesOf(state, item))) {
    while (taken.has(next)) next++;
    byId.set(slots[0].id, next++);
  }
  return byId;
}

/** Reads back from the newest, and no further than the turn before. */
export function itemsOfTurn({ items }: FoldState, turn: number): readonly ItemState[] {
  const found: ItemState[] = [];
  for (let link: FoldState['items'] | undefined = items; link !== undefined; link = link.before) {
    for (const item of link.chunk.toReversed()) {
      if (item.turn === turn) found.push(item);
      if (item.turn > 0 && item.turn < turn) return found.reverse();
    }
  }
  return found.reverse();
}
