import type { Item } from '../protocol/item.ts';
import { addUsage, noUsage, type Usage } from '../protocol/usage.ts';
import { type FoldState, findOpen, type ItemState, type PartSlot } from './fold-state.ts';
import { livePart } from './open-part.ts';
import { toArray } from './sequence.ts';

/**
 * Returns the items in order with their committed parts. Requests to a model are built from this
 * list.
 */
export function transcript(state: FoldState): readonly Item[] {
  return toArray(state.items).map(toItem);
}

/**
 * Returns the items in order, including the current content of streaming parts. A user interface
 * shows this list.
 */
export function liveTranscript(state: FoldState): readonly Item[] {
  return toArray(state.items).map((item) => toLiveItem(state, item));
}

/** Returns the usage of all attempts together, including superseded ones. */
export function totalUsage(state: FoldState): Usage {
  const lastWords = new Map(
    toArray(state.usage).map(({ turn, attempt, usage }) => [`${turn}.${attempt}`, usage]),
  );
  return [...lastWords.values()].reduce(addUsage, noUsage);
}

// An unchanged item is always the same object, so a user interface can skip it.
const items = new WeakMap<ItemState, Item>();

/** Returns an item with its committed parts. An unchanged state returns the same object. */
export function toItem(state: ItemState): Item {
  const known = items.get(state);
  if (known !== undefined) return known;
  const item = withParts(
    state,
    state.parts.map(({ part }) => part),
  );
  items.set(state, item);
  return item;
}

function toLiveItem(state: FoldState, item: ItemState): Item {
  if (item.parts.every(({ part }) => part !== undefined)) return toItem(item);
  const shown = ({ id, part }: PartSlot) => {
    const open = part === undefined ? findOpen(state, id) : undefined;
    return open === undefined ? part : livePart(open);
  };
  return withParts(item, item.parts.map(shown));
}

function withParts(state: ItemState, parts: readonly (Item['parts'][number] | undefined)[]): Item {
  const { id, kind, author, stop, metadata, redacted } = state;
  return {
    id,
    kind,
    ...(author && { author }),
    parts: parts.filter((part) => part !== undefined),
    ...(stop && { stop }),
    ...(redacted && { redacted }),
    ...(metadata && { metadata }),
  };
}
