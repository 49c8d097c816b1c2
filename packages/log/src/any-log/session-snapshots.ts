import {
  type AttemptUsage,
  cutSequence,
  emptyState,
  type FoldState,
  type ItemState,
  type Sequence,
  type SessionId,
} from '@millrace/core';
import type { SessionInfo } from '../contract/session-info.ts';
import type { SnapshotPart, SnapshotStore } from '../contract/snapshot-store.ts';
import { decodePart, encodePart } from './snapshot-codec.ts';
import {
  type CutState,
  cutStates,
  type ItemPart,
  linksUntil,
  noPart,
  type PartRef,
  points,
  type StoredFold,
  type StoredValue,
  type ValuesOfState,
  type ValueToStore,
} from './snapshot-cuts.ts';
import { newestValues, usableValues, valuesAmongParts, valuesOf } from './snapshot-values.ts';
import { sizeOf } from './state-size.ts';

// A snapshot consists of parts. Parts 1, 2, 3 … contain the older items, which no longer change. A new
// snapshot adds parts and does not write the existing parts again. Part 0, the head, contains everything
// else: the newest items, open work, and the values of other folds. The cost of a snapshot therefore depends
// only on the changes since the previous snapshot.
//
// The items of a state in memory are a linked list (`Sequence`). A link of this list never changes. After a
// link was stored, the map `points` contains the number of its part. If a later record changes an old item,
// the new state has new links from that item on, and the next snapshot writes their parts again.

/** Increase this version when the fold or the format changes. Snapshots of other versions are not used. */
export const snapshotVersion = 2;

/** The content of part 0 of a snapshot. */
interface Head extends Pick<SessionInfo, 'incarnation' | 'through'> {
  readonly version: number;
  /** Refers to the last of the parts 1, 2, 3 … */
  readonly last: PartRef;
  readonly state: Omit<FoldState, 'session' | 'through' | 'items' | 'usage'>;
  readonly items: readonly ItemState[];
  readonly usage: readonly AttemptUsage[];
  readonly values: Readonly<Record<string, StoredValue>>;
}

/** A state that was loaded from a snapshot, with the stored values of all folds by name. */
export interface SnapshotState {
  readonly state: FoldState;
  readonly values: ReadonlyMap<string, StoredValue>;
}

/** The approximate size of a part in bytes. A new part starts when this size is reached. */
const partBytes = 256 * 2 ** 10;
/**
 * The maximum length of part 0. A longer state is not stored, because folding the records is about as fast as
 * loading it.
 */
const maxHeadLength = 8 * 2 ** 20;
const readBytes = 4 * 2 ** 20;

/** Options of `loadSnapshot`. */
interface LoadOptions {
  /** The fold whose value the caller needs. If the fold has `needs`, the load may omit the oldest items. */
  readonly fold: StoredFold<unknown> | undefined;
  /** Called with the items of each part. It throws if the state becomes too large. */
  readonly onItems: (items: readonly ItemState[]) => void;
}

/** Loads the stored state of a session. Returns undefined if no usable snapshot is stored. */
export async function loadSnapshot(
  store: SnapshotStore,
  { session, incarnation, through }: SessionInfo,
  { fold, onItems }: LoadOptions,
): Promise<SnapshotState | undefined> {
  const head = await readHead(store, session, incarnation);
  if (head === undefined || head.through > through) return undefined;
  const values = new Map(Object.entries(head.values));
  const own = fold && values.get(fold.name);
  const cut = fold?.needs !== undefined && own?.version === fold.version ? own.cut : undefined;
  // A value without data about old items fits only a state without the same items.
  for (const [name, value] of values)
    if (value.cut !== undefined && value.cut !== cut) values.delete(name);
  const start: Pick<FoldState, 'items' | 'usage'> =
    cut === undefined ? emptyState(session) : { items: cutSequence(), usage: cutSequence() };
  let { items, usage } = start;
  if (cut !== undefined) points.set(items, { ...cut, incarnation, usage });
  let last = cut ?? noPart;
  while (last.part < head.last.part) {
    const page = await store.read(session, { from: last.part + 1, maxBytes: readBytes });
    if (page.length === 0) return undefined;
    for (const { part, body } of page) {
      const content = decodePart(body) as ItemPart | undefined;
      if (content?.before !== last.id || part !== last.part + 1) return undefined;
      onItems(content.items);
      items = { before: items, chunk: content.items };
      if (content.usage.length > 0) usage = { before: usage, chunk: content.usage };
      last = { part, id: content.id };
      points.set(items, { ...last, incarnation, usage });
      if (part === head.last.part) break;
    }
  }
  if (last.id !== head.last.id) return undefined;
  onItems(head.items);
  if (head.items.length > 0) items = { before: items, chunk: head.items };
  if (head.usage.length > 0) usage = { before: usage, chunk: head.usage };
  return { state: { ...head.state, session, through: head.through, items, usage }, values };
}

/** Loads the stored value of a fold, without the state. */
export async function loadValue(
  store: SnapshotStore,
  { session, incarnation, through }: SessionInfo,
  { name, version }: Pick<StoredFold<unknown>, 'name' | 'version'>,
): Promise<StoredValue | undefined> {
  const head = await readHead(store, session, incarnation);
  const value = head !== undefined && head.through <= through ? head.values[name] : undefined;
  return value?.version === version ? value : undefined;
}

/** A value that a program computed itself, and that it stores beside the snapshot of a session. */
export interface OwnValue extends Pick<StoredValue, 'version' | 'through' | 'value'> {
  readonly name: string;
  readonly incarnation: string;
}

/**
 * Adds a value to the stored snapshot of a session. Returns false if there is no snapshot, if the log was
 * rewound, if content was redacted after the value was computed, or if the value is too old.
 */
export function addValue(
  store: SnapshotStore,
  session: SessionId,
  value: OwnValue,
): Promise<boolean> {
  return inTurn(store, session, () => writeValue(store, session, value));
}

async function writeValue(
  store: SnapshotStore,
  session: SessionId,
  { name, version, through, value, incarnation }: OwnValue,
): Promise<boolean> {
  const head = await readHead(store, session, incarnation);
  if (head === undefined) return false;
  const own = { [name]: { version, through, cut: undefined, value } };
  const body = encodePart({ ...head, values: newestValues(head.values, own) });
  if (body.length > maxHeadLength) return false;
  // The value may have content that a later record redacted. The store checks the records after `through`.
  return store.write(session, {
    ...{ incarnation, through, first: head.last.part + 1, parts: [{ part: 0, body }] },
  });
}

/** The last write of each session. */
const lastWrites = new WeakMap<SnapshotStore, Map<SessionId, Promise<unknown>>>();

/**
 * Writes to the snapshot of a session after the earlier writes of this process. A write reads the stored head first,
 * so a second write at the same time could remove what the first one stores.
 */
function inTurn<T>(store: SnapshotStore, session: SessionId, write: () => Promise<T>): Promise<T> {
  const writes = lastWrites.get(store) ?? new Map<SessionId, Promise<unknown>>();
  lastWrites.set(store, writes);
  const written = (writes.get(session) ?? Promise.resolve()).then(write);
  const settled = written.then(
    () => {},
    () => {},
  );
  writes.set(session, settled);
  void settled.then(() => {
    if (writes.get(session) === settled) writes.delete(session);
  });
  return written;
}

async function readHead(
  store: SnapshotStore,
  session: SessionId,
  incarnation: string,
): Promise<Head | undefined> {
  const [first] = await store.read(session, { from: 0, maxBytes: 1 });
  if (first?.part !== 0) return undefined;
  const head = decodePart(first.body) as Head | undefined;
  const isUsable = head?.version === snapshotVersion && head.incarnation === incarnation;
  return isUsable ? head : undefined;
}

/** The state that `saveSnapshot` stores, with the values of all folds. */
interface StateToStore extends ValuesOfState {
  /** The number of records between two snapshots. */
  readonly spacing: number;
}

/**
 * Stores a state as a snapshot. If a fold does not need the oldest items, the result contains a copy of the
 * state without these items. The caller can keep the copy in memory instead of the whole state. The result is
 * an empty list if the state was not stored.
 */
export async function saveSnapshot(
  store: SnapshotStore,
  toStore: StateToStore,
): Promise<readonly CutState[]> {
  const written = await inTurn(store, toStore.state.session, () => writeSnapshot(store, toStore));
  return written === true ? cutStates(toStore) : written || [];
}

/**
 * Writes the new parts of a snapshot. Returns false if the state was not stored. If another process already
 * stores the items, the function adds only the values. It then returns the states that can now be loaded with
 * fewer items.
 */
async function writeSnapshot(
  store: SnapshotStore,
  { state, incarnation, values, spacing }: StateToStore,
): Promise<boolean | readonly CutState[]> {
  const { session, through, items, usage, open, ...rest } = state;
  // A part with bytes still streams. Its bytes are a long chain of small pieces. Streaming parts end soon, so
  // a later state is stored instead.
  if (open.some(({ bytes }) => bytes !== undefined)) return false;
  const known = await readHead(store, session, incarnation);
  if (known !== undefined && isRecent(known, { through, values, spacing })) return false;
  const source = { session, items, usage, incarnation };
  const fresh = await newLinks(store, source, known?.last ?? noPart);
  if (fresh === undefined) return false;
  // Another process may have replaced the parts that contained these links.
  for (const link of fresh.items) points.delete(link);
  if (known !== undefined && isExtended(known, fresh.base, through - 3 * spacing))
    return addValues(store, { state, incarnation, values }, known);
  const sealed = sealedCount(fresh.items);
  const sealedUsage = sealed === 0 ? 0 : Math.max(0, fresh.usage.length - 1);
  const parts = newParts(fresh, sealed, sealedUsage);
  const { part, id } = parts.at(-1)?.ref ?? fresh.base;
  const last = { part, id };
  for (const { link, ref } of parts) points.set(link, { ...ref, incarnation, usage: fresh.stored });
  // Only the last new part contains usage.
  const newest = parts.at(-1);
  if (newest !== undefined && sealedUsage > 0)
    points.set(newest.link, { ...last, incarnation, usage: fresh.usage[sealedUsage - 1] });
  const head: Head = {
    version: snapshotVersion,
    ...{ incarnation, through, last },
    state: { ...rest, open },
    items: fresh.items.slice(sealed).flatMap(({ chunk }) => chunk),
    usage: fresh.usage.slice(sealedUsage).flatMap(({ chunk }) => chunk),
    values: {},
  };
  // The values are encoded again, because a fold may not need the items of the new parts. A reader can then
  // omit these parts too.
  const own = valuesOf(items, incarnation, values);
  const stored = newestValues(usableValues(known?.values, fresh.base), own);
  const body = encodePart({ ...head, values: stored });
  const isStored =
    body.length <= maxHeadLength &&
    (await store.write(session, {
      ...{ incarnation, through, first: fresh.base.part + 1 },
      parts: [{ part: 0, body }, ...parts.map(({ stored }) => stored)],
    }));
  if (!isStored) for (const { link } of parts) points.delete(link);
  return isStored;
}

interface NewLinks {
  /** The links (list nodes) of the item list that are not stored, oldest first. */
  readonly items: readonly Sequence<ItemState>[];
  readonly usage: readonly Sequence<AttemptUsage>[];
  /** The newest stored part that contains items older than the new links. */
  readonly base: PartRef;
  /** The newest link (list node) of the usage list that is stored in the parts up to `base`. */
  readonly stored: Sequence<AttemptUsage> | undefined;
}

interface LinkSource extends Pick<FoldState, 'session' | 'items' | 'usage'> {
  readonly incarnation: string;
}

/**
 * Finds the links (list nodes) of the item list that are not stored. Returns undefined if some of these links
 * are not in memory.
 */
async function newLinks(
  store: SnapshotStore,
  { session, items, usage, incarnation }: LinkSource,
  last: PartRef,
): Promise<NewLinks | undefined> {
  // A redaction removes stored parts, and another process can replace them when it writes all parts again.
  // This check finds out whether the part of a link still exists.
  const isStored = (link: Sequence<ItemState>) => {
    const { part, id, ...point } = points.get(link) ?? { ...noPart, incarnation: undefined };
    return point.incarnation === incarnation && (part < last.part || id === last.id);
  };
  const [newItems, link] = linksUntil(items, isStored);
  const base = link && points.get(link);
  const [newUsage, stored] = linksUntil(usage, (one) => one === base?.usage);
  if (base !== undefined && stored === base.usage && (await isThere(store, session, base, last)))
    return { items: newItems, usage: newUsage, base, stored };
  const [allItems] = linksUntil(items, () => false);
  const [allUsage] = linksUntil(usage, () => false);
  if (allItems[0]?.isCut) return undefined;
  return { items: allItems, usage: allUsage, base: noPart, stored: undefined };
}

/** Returns whether the stored part still has this id. If not, another process has replaced it. */
async function isThere(
  store: SnapshotStore,
  session: SessionId,
  { part, id }: PartRef,
  last: PartRef,
): Promise<boolean> {
  if (part === last.part) return id === last.id;
  const [found] = await store.read(session, { from: part, maxBytes: 1 });
  const content =
    found?.part === part ? (decodePart(found.body) as ItemPart | undefined) : undefined;
  return content?.id === id;
}

/**
 * Returns the number of links (list nodes), from the oldest on, that no longer change. The newest link still
 * grows, so it is not counted.
 */
function sealedCount(links: readonly Sequence<ItemState>[]): number {
  const isOpen = ({ chunk }: Sequence<ItemState>) =>
    chunk.some(({ finished }) => finished === undefined);
  const open = links.findIndex(isOpen);
  return Math.min(open < 0 ? links.length : open, Math.max(0, links.length - 1));
}

interface NewPart {
  readonly stored: SnapshotPart;
  readonly ref: PartRef;
  /** The newest link whose items are in the part. */
  readonly link: Sequence<ItemState>;
}

/** Divides links (list nodes) into parts. Only the last part contains usage. */
function newParts(
  { items, usage, base }: NewLinks,
  sealed: number,
  sealedUsage: number,
): readonly NewPart[] {
  const parts: NewPart[] = [];
  let [before, bytes]: [PartRef, number] = [base, 0];
  let chunks: (readonly ItemState[])[] = [];
  for (const [index, link] of items.slice(0, sealed).entries()) {
    chunks.push(link.chunk);
    for (const item of link.chunk) bytes += sizeOf(item);
    const isLast = index === sealed - 1;
    if (bytes < partBytes && !isLast) continue;
    const ref = { part: before.part + 1, id: crypto.randomUUID() };
    const added = isLast ? usage.slice(0, sealedUsage).flatMap(({ chunk }) => chunk) : [];
    const content: ItemPart = { id: ref.id, before: before.id, items: chunks.flat(), usage: added };
    parts.push({ stored: { part: ref.part, body: encodePart(content) }, ref, link });
    [before, bytes, chunks] = [ref, 0, []];
  }
  return parts;
}

/** Returns whether the stored snapshot, and its values of the same folds, are nearly as new as the state. */
function isRecent(
  known: Head,
  {
    through,
    values,
    spacing,
  }: Pick<StateToStore, 'values' | 'spacing'> & { readonly through: number },
): boolean {
  const isNew = (stored: number, distance: number) => stored > through - distance * spacing;
  const has = ({ stored: { name, version } }: ValueToStore) => {
    const value = known.values[name];
    return value?.version === version && isNew(value.through, 2);
  };
  return isNew(known.through, 1) && values.every(has);
}

/** Returns whether another process has added parts after `base`, and its snapshot is newer than `since`. */
function isExtended({ through, last }: Head, base: PartRef, since: number): boolean {
  return base.part > 0 && base.id !== last.id && through > since;
}

/**
 * Adds values to the stored snapshot, but no items. The other process stores the items, so that the two
 * processes do not replace the parts of each other.
 */
async function addValues(
  store: SnapshotStore,
  own: ValuesOfState,
  known: Head,
): Promise<false | readonly CutState[]> {
  const { session, through } = own.state;
  const readPart = async (part: number) => {
    const [found] = await store.read(session, { from: part, maxBytes: 1 });
    return found?.part === part ? (decodePart(found.body) as ItemPart | undefined) : undefined;
  };
  const { values, laterCuts } = await valuesAmongParts(readPart, known.last, own);
  const body = encodePart({ ...known, values: newestValues(known.values, values) });
  const isStored = await store.write(session, {
    ...{ incarnation: known.incarnation, through: Math.max(through, known.through) },
    ...{ first: known.last.part + 1, parts: [{ part: 0, body }] },
  });
  return isStored && laterCuts;
}
