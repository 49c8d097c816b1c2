import {
  type AttemptUsage,
  cutSequence,
  type FoldState,
  type ItemId,
  type ItemState,
  type Sequence,
} from '@millrace/core';

// Decides which old items a fold no longer needs. A state can then be kept, stored and loaded without these
// items.

/** Says how the value of a fold is stored in snapshots. The value must be plain data. */
export interface StoredFold<T> {
  /** The name of the fold. Two folds must not have the same name. */
  readonly name: string;
  /** Increase this version when the fold changes. Stored values of other versions are not used. */
  readonly version: number;
  /**
   * Returns whether the fold may still need an item. After it has returned false for an item, it must never
   * return true for that item. A load can omit the oldest items if no longer needed. Default: all items are
   * loaded.
   */
  readonly needs?: ((value: T, item: ItemState) => boolean) | undefined;
  /** Returns the value without data about items that are not loaded. Default: the value does not change. */
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

/** The value of a fold that a snapshot should store. */
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

/** The part of a snapshot that contains a link (a list node). All older links are stored too. */
export interface StoredPoint extends PartRef {
  readonly incarnation: string;
  /** The newest link (list node) of the usage list that is stored in the parts up to this part. */
  readonly usage: Sequence<AttemptUsage> | undefined;
}

export const points: WeakMap<Sequence<ItemState>, StoredPoint> = new WeakMap();

/**
 * Searches the nodes (links) of a list for one that fits, from the newest link on. Returns this link, and all
 * newer links with the oldest first.
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

/**
 * The result of storing a state for one fold: the old items that the fold does not need are stored, so they
 * can be dropped from memory.
 */
export interface CutState {
  readonly stored: StoredFold<unknown>;
  /**
   * The state without these items, and the value of the fold. Undefined if another process stored the items.
   * The snapshot must then be loaded again to get them.
   */
  readonly kept: { readonly state: FoldState; readonly value: unknown } | undefined;
}

/** A state and the values of folds that belong to it. */
export interface ValuesOfState {
  readonly state: FoldState;
  readonly incarnation: string;
  readonly values: readonly ValueToStore[];
}

/**
 * Returns states without their oldest items. There is one state for each value that ends at the same record
 * as the state.
 */
export function cutStates({ state, incarnation, values }: ValuesOfState): readonly CutState[] {
  return values.flatMap((given) => {
    const { cut, value } = shortened(state.items, incarnation, given);
    // If the state is already cut at this link, it needs no copy.
    const isNew = cut !== undefined && cut.link.before?.isCut === undefined;
    if (!isNew || given.through !== state.through) return [];
    return [{ stored: given.stored, kept: { value, state: cutAt(state, cut) } }];
  });
}

/** A link of the item list. All items up to this link are stored, and the fold needs none of them. */
interface Cut {
  readonly link: Sequence<ItemState>;
  readonly point: StoredPoint;
}

/**
 * Finds the cut for the value of a fold. Returns the cut, and the value without data about items before the
 * cut.
 */
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
 * Returns the state without the links up to the cut. Copies the later links, with their items and their
 * stored points.
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

/**
 * For each fold, the links up to which the fold needs no item. The fold will never need these items again.
 */
const unneededLinks = new WeakMap<StoredFold<unknown>, WeakSet<Sequence<ItemState>>>();

/**
 * Returns the last stored link up to which a fold needs no item. Returns undefined if there is no such link.
 */
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
