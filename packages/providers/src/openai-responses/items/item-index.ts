import type { JsonObject } from '@millrace/core';
import { textIn } from '../../json/fields.ts';
import { BuiltInItem } from './built-in-item.ts';
import type { OutputItem } from './output-item.ts';
import { CallItem } from './tool-calls.ts';

/** The fields of an event that identify its item. */
interface ItemQuery {
  readonly type: string;
  readonly id: string | undefined;
  readonly index: number | undefined;
  /** The item itself, if the event contains it. */
  readonly item?: JsonObject;
  /** True if the event repeats content of an item that may already have ended. */
  readonly isRepeat?: boolean;
}

/**
 * Finds the item that an event belongs to. No single field is reliable. The id of an item can change from
 * event to event, and indexes can be missing or equal for all items.
 */
export class ItemIndex {
  readonly #byId = new Map<string, OutputItem[]>();
  readonly #byIndex = new Map<number, OutputItem[]>();
  readonly #indexes = new Map<OutputItem, number | undefined>();

  get size(): number {
    return this.#indexes.size;
  }

  /** Returns all items in the order in which they began. */
  get all(): readonly OutputItem[] {
    return [...this.#indexes.keys()];
  }

  add(item: OutputItem, id: string | undefined, index: number | undefined): void {
    this.#indexes.set(item, index);
    if (index !== undefined) addTo(this.#byIndex, index, item);
    this.addId(item, id);
  }

  /** Registers an id for an item. An item can have several ids. */
  addId(item: OutputItem, id: string | undefined): void {
    if (id !== undefined && !this.#byId.get(id)?.includes(item)) addTo(this.#byId, id, item);
  }

  remove(item: OutputItem): void {
    this.#indexes.delete(item);
    for (const items of [...this.#byId.values(), ...this.#byIndex.values()]) {
      const at = items.indexOf(item);
      if (at >= 0) items.splice(at, 1);
    }
  }

  /**
   * Returns the item with this id, or otherwise the item at this index. Returns undefined if several items
   * match.
   */
  single(id: string | undefined, index: number | undefined): OutputItem | undefined {
    const named = id === undefined ? undefined : this.#byId.get(id);
    const found = named ?? (index === undefined ? undefined : this.#byIndex.get(index));
    return found?.length === 1 ? found[0] : undefined;
  }

  /**
   * Returns the items that match a query. If the item is new, no item matches. If items cannot be
   * distinguished, several match. It compares the id, then the call id, then the index, and then the type of
   * open items.
   */
  find(query: ItemQuery): readonly OutputItem[] {
    const fitting = this.all.filter((item) => matchesQuery(item, query));
    const known = this.#named(query, fitting);
    const [only] = known;
    if (known.length === 1 && only && !this.#isElsewhere(only, query)) return known;
    const pool = known.length > 1 ? known : fitting;
    const found = this.#at(query.index);
    if (query.index !== undefined && found.length === 0) {
      return pool.filter((item) => !item.isClosed && this.#indexes.get(item) === undefined);
    }
    const here = pool.filter((item) => found.includes(item));
    const candidates = here.length > 0 ? here : pool;
    const open = candidates.filter((item) => !item.isClosed);
    const isClosedOne = here.length > 0 || known.length > 0 || query.isRepeat === true;
    return open.length === 0 && isClosedOne ? candidates.slice(-1) : open;
  }

  #named({ id, item }: ItemQuery, fitting: readonly OutputItem[]): readonly OutputItem[] {
    const ofId = id === undefined ? [] : (this.#byId.get(id) ?? []);
    const byId = fitting.filter((one) => ofId.includes(one));
    if (byId.length > 0) return byId;
    const callId = textIn(item, 'call_id');
    if (callId === undefined) return [];
    return fitting.filter(({ fields }) => textIn(fields, 'call_id') === callId);
  }

  /**
   * Returns whether an item differs from the item of the event, although their ids are equal. Some servers
   * use one id for all items. If an item ended at a different index, it is a different item.
   */
  #isElsewhere(item: OutputItem, { id, index }: ItemQuery): boolean {
    const own = this.#indexes.get(item);
    if (index === undefined || own === undefined || own === index) return false;
    const isOpen = !item.isClosed && id !== undefined && this.#byId.get(id)?.includes(item);
    return !isOpen && this.#at(index).length === 0;
  }

  #at(index: number | undefined): readonly OutputItem[] {
    return index === undefined ? [] : (this.#byIndex.get(index) ?? []);
  }
}

function matchesQuery(one: OutputItem, { type, item }: ItemQuery): boolean {
  return one.type === type && (item === undefined || !one.differsFrom(item));
}

function addTo<Key>(items: Map<Key, OutputItem[]>, key: Key, item: OutputItem): void {
  const found = items.get(key);
  if (found === undefined) items.set(key, [item]);
  else found.push(item);
}

type Match = OutputItem | undefined;

/**
 * Finds the streamed item for each item of the final output. It compares ids, call ids and content. If no
 * item matches, it takes the next item of the same type, because ids can change.
 */
export function matchItems(
  output: readonly JsonObject[],
  streamed: readonly OutputItem[],
): readonly Match[] {
  const free = new Set(streamed);
  const take = (found: Match) => (found !== undefined && free.delete(found) ? found : undefined);
  const pick = (item: JsonObject, fits: (one: OutputItem) => boolean) =>
    take([...free].find((one) => isSameKind(one, item) && fits(one)));
  const picked = (fits: (one: OutputItem, item: JsonObject) => boolean, known: readonly Match[]) =>
    output.map((item, index) => known[index] ?? pick(item, (one) => fits(one, item)));
  const byId = picked((one, item) => one.id !== undefined && one.id === textIn(item, 'id'), []);
  const byName = picked((one, item) => one.sharesIdWith(item), byId);
  const byText = picked((one, item) => one.isClosed && one.matches(item), byName);
  return picked(() => true, byText);
}

/**
 * Returns whether an item must be removed, because the final output has items of its type but not this item.
 * An item stays if it has ended and is not a call, because the final output can be incomplete.
 */
export function isUnlisted(
  item: OutputItem,
  output: readonly JsonObject[],
  matched: readonly Match[],
): boolean {
  const isCall = item instanceof CallItem || item instanceof BuiltInItem;
  if (matched.includes(item) || (item.isClosed && !isCall)) return false;
  return output.some(({ type }) => type === item.type);
}

function isSameKind(one: OutputItem, item: JsonObject): boolean {
  return one.type === textIn(item, 'type') && !one.differsFrom(item);
}
