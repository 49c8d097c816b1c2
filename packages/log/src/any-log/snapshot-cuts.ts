import {
  type AttemptUsage,
  cutSequence,
  type FoldState,
  type ItemId,
  type ItemState,
  type Sequence,
} from '@millrace/core';

// Decides which old items a fold does not need any more, so that a state can be kept, stored and loaded
// without them.

/** Says how the value of a fold is stored in snapshots. The value must be plain data. */
export interface StoredFold<T> {
  /** The name of the fold. Each fold must have another name. */
  readonly name: string;
  /** Increase this version when the fold changes. Stored values of other versions are not used. */
  readonly version: number;
  /**
   * Returns whether work on the session may still read an item. After it has returned false for an
   * item, it must never return true for that item. A state can then be loaded without its oldest items,
   * if they are not needed. Default: all items are loaded.
   */
  readonly needs?: ((value: T, item: ItemState) => boolean) | undefined;
  /** Removes data about items that are not loaded from the value. Default: the value does not change. */
  readonly shorten?: ((value: T, has: (item: ItemId) => boolean) => T) | undefined;
}

/** The value of a fold in a snapshot. */
export interface StoredValue {
  readonly version: number;
  /** The offset of the last record that the value includes. */
  readonly through: number;
  /** If set, the value belongs to a state that does not contain the items up to this part. */
  readonly cut: PartRef | undefined;
  readonly value: unknown;
}

/** The value of a fold that is to be stored. */
export interface ValueToStore {
  readonly stored: StoredFold<unknown>;
  readonly through: number;
  readonly value: unknown;
}

/** Refers to a part of a snapshot. The id changes each time the part is written. */
export interface PartRef {
  readonly part: number;
  readonly id: string;
}

/** The content of one of the parts 1, 2, 3 … */
export interface ItemPart {
  readonly id: string;
  /** The id of the previous part. */
  readonly before: string;
  readonly items: readonly ItemState[];
  readonly usage: readonly AttemptUsage[];
}

/** The position before part 1. */
export const noPart: PartRef = { part: 0, id: '' };

/** The part in which a link is stored. All links before that link are stored too. */
export interface StoredPoint extends PartRef {
  readonly incarnation: string;
  /** The newest link of the usage that is stored in the parts up to this one. */
  readonly usage: Sequence<AttemptUsage> | undefined;
}

export const points: WeakMap<Sequence<ItemState>, StoredPoint> = new WeakMap();

/**
 * Searches from the newest link for one that fits. Returns the links that are newer than the link that
 * fits, oldest first, and the link that fits.
 */
export function linksUntil<T>(
  sequence: Sequence<T>,
  fits: (link: Sequence<T>) => boolean,
): readonly [readonly Sequence<T>[], Sequence<T> | undefined] {
  const found: Sequence<T>[] = [];
  let link: Sequence<T> | undefined = sequence;
  for (; link !== undefined && !fits(link); link = link.before) found.push(link);
  return [found.reverse(), link];
}

/** The old items that one fold does not need are stored, and can be dropped from memory. */
export interface CutState {
  readonly stored: StoredFold<unknown>;
  /**
   * The state without these items, and the value of the fold. Undefined if the snapshot must be loaded
   * again to get them, because another writer stored the items.
   */
  readonly kept: { readonly state: FoldState; readonly value: unknown } | undefined;
}

/** A state and the values of folds that belong to it. */
export interface ValuesOfState {
  readonly state: FoldState;
  readonly incarnation: string;
  readonly values: readonly ValueToStore[];
}

/** Returns a state without its oldest items for each value that ends at the same record as the state. */
export function cutStates({ state, incarnation, values }: ValuesOfState): readonly CutState[] {
  return values.flatMap((given) => {
    const { cut, value } = shortened(state.items, incarnation, given);
    // If the state is already cut at this link, no copy is needed.
    const isNew = cut !== undefined && cut.link.before?.isCut === undefined;
    if (!isNew || given.through !== state.through) return [];
    return [{ stored: given.stored, kept: { value, state: cutAt(state, cut) } }];
  });
}

/** A link. All items up to it are stored, and none of them is needed. */
interface Cut {
  readonly link: Sequence<ItemState>;
  readonly point: StoredPoint;
}

/** Finds the cut for a value. Returns the cut, and the value without the data about items before the cut. */
export function shortened(
  items: Sequence<ItemState>,
  incarnation: string,
  { stored, value }: ValueToStore,
): { readonly cut: Cut | undefined; readonly value: unknown } {
  const { needs, shorten } = stored;
  const needed = needs && { stored, needs: (item: ItemState) => needs(value, item) };
  const cut = needed && neededFrom(items, incarnation, needed.stored, needed.needs);
  if (cut === undefined || shorten === undefined) return { cut, value };
  const ids = new Set(itemsAfter(items, cut).map(({ id }) => id));
  return { cut, value: shorten(value, (id) => ids.has(id)) };
}

/** Returns the items after a cut, oldest first. Without a cut, it returns all items. */
export function itemsAfter(
  items: Sequence<ItemState>,
  cut: Pick<Cut, 'link'> | undefined,
): readonly ItemState[] {
  return linksUntil(items, (link) => link === cut?.link)[0].flatMap(({ chunk }) => chunk);
}

/**
 * Returns the state without the links up to the cut. The later links are copied, with their entries and
 * their points.
 */
function cutAt(state: FoldState, { link, point }: Cut): FoldState {
  const usages = new Map<Sequence<AttemptUsage> | undefined, Sequence<AttemptUsage>>();
  let usage: Sequence<AttemptUsage> = cutSequence();
  usages.set(point.usage, usage);
  for (const old of linksUntil(state.usage, (one) => one === point.usage)[0]) {
    usage = { before: usage, chunk: old.chunk };
    usages.set(old, usage);
  }
  let items: Sequence<ItemState> = cutSequence();
  points.set(items, { ...point, usage: usages.get(point.usage) });
  for (const old of linksUntil(state.items, (one) => one === link)[0]) {
    items = { before: items, chunk: old.chunk };
    const known = points.get(old);
    if (known !== undefined) points.set(items, { ...known, usage: usages.get(known.usage) });
  }
  return { ...state, items, usage };
}

/** For each fold, the links up to which the fold needs no item. It never needs these items again. */
const unneededLinks = new WeakMap<StoredFold<unknown>, WeakSet<Sequence<ItemState>>>();

/** Returns the last stored link up to which a fold needs no item. Returns undefined if there is none. */
function neededFrom(
  items: Sequence<ItemState>,
  incarnation: string,
  stored: StoredFold<unknown>,
  needs: (item: ItemState) => boolean,
): Cut | undefined {
  const unneeded = unneededLinks.get(stored) ?? new WeakSet();
  unneededLinks.set(stored, unneeded);
  const [links, known] = linksUntil(items, (link) => unneeded.has(link));
  let link = known;
  for (const one of links) {
    if (one.chunk.some(needs)) break;
    unneeded.add(one);
    link = one;
  }
  for (; link !== undefined; link = link.before) {
    const point = points.get(link);
    if (point?.incarnation === incarnation && point.part > 0) return { point, link };
  }
  return undefined;
}
