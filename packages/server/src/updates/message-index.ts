import { type FoldState, findOpen, type ItemState, type PartId } from '@millrace/core';
import {
  isIndexed,
  isReasoning,
  isShown,
  itemsOfTurn,
  type LoggedMessage,
} from './logged-message.ts';

/**
 * Returns the index of a message in its turn: the agent's own index, or otherwise its position among the
 * messages. It is null outside of turns. It depends only on the state, so reconnecting clients get the same
 * index.
 */
export function messageIndex(state: FoldState, message: LoggedMessage): number | null {
  const { item, slots, isFirst } = message;
  const [{ id, part }] = slots;
  const own = (part ?? findOpen(state, id))?.metadata?.['index'];
  if (isIndexed(item) && typeof own === 'number') return own;
  if (isIndexed(item) && isFirst) return item.metadata?.['index'] as number;
  return item.turn === 0 ? null : ordinalOf(state, message);
}

interface Ordinals {
  readonly gone: FoldState['gone'];
  readonly byId: Map<PartId, number | null>;
}

// Caches the numbers per list of items. While text streams, the items and the retracted parts stay the same.
const ordinalsByItems = new WeakMap<FoldState['items'], Ordinals>();

function ordinalOf(state: FoldState, message: LoggedMessage): number | null {
  const { items, gone } = state;
  const [{ id }] = message.slots;
  const cached = ordinalsByItems.get(items);
  const ordinals = cached?.gone === gone ? cached : { gone, byId: new Map() };
  ordinalsByItems.set(items, ordinals);
  const known = ordinals.byId.get(id);
  if (known !== undefined) return known;
  const ordinal = countOrdinal(state, message);
  ordinals.byId.set(id, ordinal);
  return ordinal;
}

/**
 * Returns the number of a message in its turn, without building the other messages. A retracted part keeps its number,
 * so an index is never reused.
 */
function countOrdinal(state: FoldState, { item, slots: [first] }: LoggedMessage): number | null {
  const items = itemsOfTurn(state, item.turn);
  const at = items.findLastIndex(({ id }) => id === item.id);
  if (at < 0) return null;
  const earlier = items.slice(0, at).reduce((sum, one) => sum + countMessages(state, one), 0);
  const gone = goneOfTurn(state, item.turn);
  let ordinal = gone + earlier + countMessages(state, item, first.id);
  // The messages get the numbers that no item has as its own index.
  const taken = new Set(items.map(({ metadata }) => metadata?.['index']));
  const indexes = [...taken].filter((index) => typeof index === 'number');
  for (const index of indexes.toSorted((a, b) => a - b))
    if (index >= gone && index <= ordinal) ordinal++;
  return ordinal;
}

/** Counts the messages of an item, up to the message that starts with this part. */
function countMessages(state: FoldState, item: ItemState, before?: PartId): number {
  if (!isShown(item)) return 0;
  const end = before === undefined ? -1 : item.parts.findIndex(({ id }) => id === before);
  const parts = end < 0 ? item.parts : item.parts.slice(0, end);
  if (!isIndexed(item)) return parts.length;
  const entries = parts.filter((slot) => isReasoning(state, slot)).length;
  return parts.length - Math.max(0, entries - 1);
}

// Caches the number of retracted parts of one turn in a set of ids. A set never changes.
const goneCounts = new WeakMap<ReadonlySet<PartId>, readonly [turn: number, count: number]>();

function goneOfTurn({ gone }: FoldState, turn: number): number {
  return gone.reduce((sum, ids) => sum + countOfTurn(ids, turn), 0);
}

function countOfTurn(ids: ReadonlySet<PartId>, turn: number): number {
  const [known, found = 0] = goneCounts.get(ids) ?? [];
  if (known === turn) return found;
  const start = `${turn}.`;
  let count = 0;
  for (const id of ids) if (id.startsWith(start)) count++;
  goneCounts.set(ids, [turn, count]);
  return count;
}
