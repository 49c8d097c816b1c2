import type { JsonObject } from '@millrace/core';
import { textIn } from '../../json/fields.ts';
import type { OutputItem } from './output-item.ts';
import { CallItem } from './tool-calls.ts';

/** What an event says of the item that it is about. */
interface Sought {
  readonly type: string;
  readonly id: string | undefined;
  readonly index: number | undefined;
  /** The item itself, where the event has it. */
  readonly item?: JsonObject;
  /** Does it say again what may have ended already? */
  readonly isRepeat?: boolean;
}

/**
 * Where the items of a response are. Nothing that servers say of it can be trusted by itself: ids
 * change from event to event, indexes are left out or the same for all.
 */
export class ItemPlaces {
  readonly #byId = new Map<string, OutputItem[]>();
  readonly #byIndex = new Map<number, OutputItem[]>();
  readonly #indexes = new Map<OutputItem, number | undefined>();

  get size(): number {
    return this.#indexes.size;
  }

  /** In the order in which they began. */
  get all(): readonly OutputItem[] {
    return [...this.#indexes.keys()];
  }

  put(item: OutputItem, id: string | undefined, index: number | undefined): void {
    this.#indexes.set(item, index);
    if (index !== undefined) append(this.#byIndex, index, item);
    this.name(item, id);
  }

  /** An id that it has, perhaps one of several. */
  name(item: OutputItem, id: string | undefined): void {
    if (id !== undefined && !this.#byId.get(id)?.includes(item)) append(this.#byId, id, item);
  }

  forget(item: OutputItem): void {
    this.#indexes.delete(item);
    for (const items of [...this.#byId.values(), ...this.#byIndex.values()]) {
      const at = items.indexOf(item);
      if (at >= 0) items.splice(at, 1);
    }
  }

  /** The only one that is there, of whichever type: by its id, else by its index. */
  only(id: string | undefined, index: number | undefined): OutputItem | undefined {
    const named = id === undefined ? undefined : this.#byId.get(id);
    const there = named ?? (index === undefined ? undefined : this.#byIndex.get(index));
    return there?.length === 1 ? there[0] : undefined;
  }

  /**
   * The items that it can be: none where it is a new one, several where nothing tells them apart. By
   * its id, by that of its call, by a place that is its own, else as the one of its type that is open.
   */
  find(sought: Sought): readonly OutputItem[] {
    const fitting = this.all.filter((item) => fits(item, sought));
    const known = this.#named(sought, fitting);
    const [only] = known;
    if (known.length === 1 && only && !this.#isElsewhere(only, sought)) return known;
    const pool = known.length > 1 ? known : fitting;
    const there = this.#at(sought.index);
    if (sought.index !== undefined && there.length === 0) {
      return pool.filter((item) => !item.isClosed && this.#indexes.get(item) === undefined);
    }
    const here = pool.filter((item) => there.includes(item));
    const candidates = here.length > 0 ? here : pool;
    const open = candidates.filter((item) => !item.isClosed);
    const isClosedOne = here.length > 0 || known.length > 0 || sought.isRepeat === true;
    return open.length === 0 && isClosedOne ? candidates.slice(-1) : open;
  }

  #named({ id, item }: Sought, fitting: readonly OutputItem[]): readonly OutputItem[] {
    const ofId = id === undefined ? [] : (this.#byId.get(id) ?? []);
    const byId = fitting.filter((one) => ofId.includes(one));
    if (byId.length > 0) return byId;
    const callId = textIn(item, 'call_id');
    if (callId === undefined) return [];
    return fitting.filter(({ fields }) => textIn(fields, 'call_id') === callId);
  }

  /** Some servers have one id for all: what ended at another place is not what begins at a new one. */
  #isElsewhere(item: OutputItem, { id, index }: Sought): boolean {
    const own = this.#indexes.get(item);
    if (index === undefined || own === undefined || own === index) return false;
    const isOpen = !item.isClosed && id !== undefined && this.#byId.get(id)?.includes(item);
    return !isOpen && this.#at(index).length === 0;
  }

  #at(index: number | undefined): readonly OutputItem[] {
    return index === undefined ? [] : (this.#byIndex.get(index) ?? []);
  }
}

function fits(one: OutputItem, { type, item }: Sought): boolean {
  return one.type === type && (item === undefined || !one.isOther(item));
}

function append<Key>(items: Map<Key, OutputItem[]>, key: Key, item: OutputItem): void {
  const there = items.get(key);
  if (there === undefined) items.set(key, [item]);
  else there.push(item);
}

type Match = OutputItem | undefined;

/**
 * Which of the items that streamed each item of the final output is: by its id or its call's, else,
 * because ids may change from event to event, the next of its type.
 */
export function matchItems(
  output: readonly JsonObject[],
  streamed: readonly OutputItem[],
): readonly Match[] {
  const free = new Set(streamed);
  const take = (found: Match) => (found !== undefined && free.delete(found) ? found : undefined);
  const pick = (item: JsonObject, fits: (one: OutputItem) => boolean) =>
    take([...free].find((one) => isLike(one, item) && fits(one)));
  const picked = (fits: (one: OutputItem, item: JsonObject) => boolean, known: readonly Match[]) =>
    output.map((item, index) => known[index] ?? pick(item, (one) => fits(one, item)));
  const byId = picked((one, item) => one.id !== undefined && one.id === textIn(item, 'id'), []);
  const byName = picked((one, item) => one.isNamed(item), byId);
  const byText = picked((one, item) => one.isClosed && one.agrees(item), byName);
  return picked(() => true, byText);
}

/**
 * Is it none of the output's, of whose type that has others? Where a type is missing altogether, or
 * an item ended that cannot run, the output is only not complete.
 */
export function isUnlisted(
  item: OutputItem,
  output: readonly JsonObject[],
  matched: readonly Match[],
): boolean {
  if (matched.includes(item) || (item.isClosed && !(item instanceof CallItem))) return false;
  return output.some(({ type }) => type === item.type);
}

function isLike(one: OutputItem, item: JsonObject): boolean {
  return one.type === textIn(item, 'type') && !one.isOther(item);
}
