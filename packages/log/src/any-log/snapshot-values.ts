import type { FoldState, ItemState, Sequence } from '@millrace/core';
import {
  type CutState,
  type ItemPart,
  itemsAfter,
  noPart,
  type PartRef,
  type StoredValue,
  shortened,
  type ValuesOfState,
  type ValueToStore,
} from './snapshot-cuts.ts';

// This file handles the values of folds in the head of a snapshot.

/** The values of folds by the name of the fold. */
export type StoredValues = Readonly<Record<string, StoredValue>>;

/** Returns the values in the form that a head stores. `items` is the item list of the state. */
export function valuesOf(
  items: Sequence<ItemState>,
  incarnation: string,
  values: readonly ValueToStore[],
): StoredValues {
  const encode = (given: ValueToStore): [string, StoredValue] => {
    const { stored, through } = given;
    const { cut, value } = shortened(items, incarnation, given);
    const { part, id } = cut?.point ?? noPart;
    const ref = cut && { part, id };
    return [stored.name, { version: stored.version, through, cut: ref, value }];
  };
  return Object.fromEntries(values.map(encode));
}

/** Returns the values that are still usable if the parts after `last` are replaced. */
export function usableValues(values: StoredValues = {}, last: PartRef): StoredValues {
  const isUsable = ([, { cut }]: [string, StoredValue]) =>
    cut === undefined || cut.part <= last.part;
  return Object.fromEntries(Object.entries(values).filter(isUsable));
}

/**
 * Combines the values of two heads. If both heads have a value of the same fold, the result has the newer
 * value, because a process may still have an old value that another process has replaced.
 */
export function newestValues(known: StoredValues, own: StoredValues): StoredValues {
  const isNewer = ([name, { version, through }]: [string, StoredValue]) => {
    const other = known[name];
    return other?.version !== version || through >= other.through;
  };
  return { ...known, ...Object.fromEntries(Object.entries(own).filter(isNewer)) };
}

/**
 * The maximum number of parts to read in the search for the first part that a fold needs. Folds usually need
 * only the newest items, which are in the head or in one of the last parts.
 */
const maxPartsRead = 4;

/** Reads one of the parts 1, 2, 3 … of the stored snapshot. */
type ReadPart = (part: number) => Promise<ItemPart | undefined>;

/** The values for a head, and the folds that now need fewer items than before. */
interface ValuesAmongParts {
  readonly values: StoredValues;
  readonly laterCuts: readonly CutState[];
}

/**
 * Returns values for a snapshot whose newest parts another process has stored. This process does not know
 * which items are in these parts. The function therefore reads the last item of each part, and finds the item
 * with the same id in the state.
 */
export async function valuesAmongParts(
  readPart: ReadPart,
  last: PartRef,
  { state: { items }, incarnation, values }: ValuesOfState,
): Promise<ValuesAmongParts> {
  const parts = new Map<number, Promise<ItemPart | undefined>>();
  const readOnce: ReadPart = (part) => {
    const reading = parts.get(part) ?? readPart(part);
    parts.set(part, reading);
    return reading;
  };
  const laterCuts: CutState[] = [];
  const later: Record<string, StoredValue> = {};
  for (const given of values) {
    const found = await laterCut(readOnce, last, { items, incarnation, given });
    if (found === undefined) continue;
    later[given.stored.name] = found;
    laterCuts.push({ stored: given.stored, kept: undefined });
  }
  return { values: { ...valuesOf(items, incarnation, values), ...later }, laterCuts };
}

interface GivenValue extends Pick<FoldState, 'items'> {
  readonly incarnation: string;
  readonly given: ValueToStore;
}

/**
 * Finds the last stored part up to which a fold needs no item, and returns the value for it. Returns
 * undefined if there is no such part among the parts that the other process has added.
 */
async function laterCut(
  readPart: ReadPart,
  last: PartRef,
  { items, incarnation, given }: GivenValue,
): Promise<StoredValue | undefined> {
  const { stored, value, through } = given;
  const { needs, shorten, version } = stored;
  if (needs === undefined) return undefined;
  const { cut } = shortened(items, incarnation, given);
  const loaded = itemsAfter(items, cut);
  const firstNeeded = loaded.findIndex((item) => needs(value, item));
  const unneeded = new Map(
    loaded.slice(0, firstNeeded < 0 ? undefined : firstNeeded).map(({ id }, at) => [id, at]),
  );
  let ref = last;
  for (let read = 0; read < maxPartsRead && ref.part > (cut?.point.part ?? 0); read++) {
    const part = await readPart(ref.part);
    if (part?.id !== ref.id) return undefined;
    const newest = part.items.at(-1);
    const at = newest && unneeded.get(newest.id);
    if (at !== undefined) {
      const ids = new Set(loaded.slice(at + 1).map(({ id }) => id));
      const shorter = shorten === undefined ? value : shorten(value, (id) => ids.has(id));
      return { version, through, cut: ref, value: shorter };
    }
    ref = { part: ref.part - 1, id: part.before };
  }
  return undefined;
}
