import type { ItemId } from '../ids.ts';
import type { FoldState, ItemState } from './fold-state.ts';

/** The state with one item changed, wherever it is. */
export function changeItem(
  state: FoldState,
  id: ItemId,
  change: (item: ItemState) => ItemState,
): FoldState {
  const live = state.live.findLastIndex((item) => item.id === id);
  const item = state.live[live];
  if (item !== undefined) return { ...state, live: state.live.with(live, change(item)) };
  const past = state.past.findLastIndex((old) => old.id === id);
  const done = state.past[past];
  return done === undefined ? state : { ...state, past: state.past.with(past, change(done)) };
}

/** The state with every item changed, or dropped where the change gives none. */
export function changeItems(
  state: FoldState,
  change: (item: ItemState) => ItemState | undefined,
): FoldState {
  return { ...state, past: changed(state.past, change), live: changed(state.live, change) };
}

/** The same list where nothing changed: mostly that is the long one. */
function changed(
  items: readonly ItemState[],
  change: (item: ItemState) => ItemState | undefined,
): readonly ItemState[] {
  const first = items.findIndex((item) => change(item) !== item);
  if (first < 0) return items;
  const rest = items.slice(first).map(change);
  return [...items.slice(0, first), ...rest.filter((item) => item !== undefined)];
}

/** Moves the items that are done, and have nothing open before them, to the past. */
export function retire(state: FoldState): FoldState {
  const busy = state.live.findIndex((item) => !isDone(item));
  if (busy === 0 || state.live.length === 0) return state;
  const count = busy < 0 ? state.live.length : busy;
  return {
    ...state,
    past: [...state.past, ...state.live.slice(0, count)],
    live: state.live.slice(count),
  };
}

function isDone(item: ItemState): boolean {
  return item.finished && item.parts.every((slot) => slot.part !== undefined);
}
