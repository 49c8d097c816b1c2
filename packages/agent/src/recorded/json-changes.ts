import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';

/** One difference between two JSON values. */
export interface JsonChange {
  /** The keys that lead to the value. Entries of lists are named by their `id` or `name`, or by their index. */
  readonly path: readonly string[];
  /** The value before. Undefined if the value is new. */
  readonly before?: JsonValue | undefined;
  /** The value after. Undefined if the value is gone. */
  readonly after?: JsonValue | undefined;
}

/** Maximum number of changes of one request. Further changes are not listed. */
const maxChanges = 100;

/**
 * Returns the differences between two JSON values, in the order of the first value. Entries with an `id` or a
 * `name` are compared with the entry of the same name. Other lists are compared after their common start. The
 * time is linear in the size of both values.
 */
export function jsonChanges(before: JsonValue, after: JsonValue): readonly JsonChange[] {
  const comparison = new JsonComparison();
  comparison.compare([], before, after);
  return comparison.changes;
}

type Path = readonly string[];

class JsonComparison {
  readonly changes: JsonChange[] = [];
  readonly #numbers = new ContentNumbers();

  compare(path: Path, before: JsonValue | undefined, after: JsonValue | undefined): void {
    if (this.#isFull || this.#isSame(before, after)) return;
    if (Array.isArray(before) && Array.isArray(after)) this.#compareLists(path, before, after);
    else if (isJsonObject(before) && isJsonObject(after)) {
      for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
        this.#compareField(path, key, own(before, key), own(after, key));
    } else this.#add({ path, before, after });
  }

  get #isFull(): boolean {
    return this.changes.length >= maxChanges;
  }

  #isSame(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
    return this.#numbers.of(before) === this.#numbers.of(after);
  }

  #add(change: JsonChange): void {
    if (!this.#isFull) this.changes.push(change);
  }

  #compareField(
    path: Path,
    key: string,
    before: JsonValue | undefined,
    after: JsonValue | undefined,
  ): void {
    // Most fields are equal. The copy of the path is made only for fields that differ.
    if (this.#isFull || this.#isSame(before, after)) return;
    this.compare([...path, key], before, after);
  }

  #compareLists(path: Path, before: readonly JsonValue[], after: readonly JsonValue[]): void {
    const [old, now] = [named(before), named(after)];
    if (old === undefined || now === undefined) return this.#compareByIndex(path, before, after);
    for (const name of new Set([...old.keys(), ...now.keys()]))
      this.#compareField(path, name, old.get(name), now.get(name));
    const common = (of: ReadonlyMap<string, JsonValue>, other: ReadonlyMap<string, JsonValue>) =>
      [...of.keys()].filter((name) => other.has(name));
    const [orderBefore, orderAfter] = [common(old, now), common(now, old)];
    if (orderBefore.some((name, at) => name !== orderAfter[at]))
      this.#add({ path: [...path, 'order'], before: orderBefore, after: orderAfter });
  }

  #compareByIndex(path: Path, before: readonly JsonValue[], after: readonly JsonValue[]): void {
    const shorter = Math.min(before.length, after.length);
    // An entry that was inserted in the middle moves all later entries.
    let start = 0;
    while (start < shorter && this.#isSame(before[start], after[start])) start++;
    let end = 0;
    while (end < shorter - start && this.#isSame(before.at(-1 - end), after.at(-1 - end))) end++;
    const length = Math.max(before.length, after.length) - end;
    for (let at = start; at < length && !this.#isFull; at++) {
      const old = at < before.length - end ? before[at] : undefined;
      const now = at < after.length - end ? after[at] : undefined;
      this.#compareField(path, String(at), old, now);
    }
  }
}

/**
 * Gives each value a number. Two values have the same number if they have the same content. Each value is
 * read once. A comparison of two nested values therefore does not read their content again at each level.
 */
class ContentNumbers {
  readonly #ofContent = new Map<unknown, number>();
  readonly #ofContainer = new Map<object, number>();

  of(value: JsonValue | undefined): number {
    if (typeof value !== 'object' || value === null) return this.#numberOf(leafContent(value));
    const known = this.#ofContainer.get(value);
    if (known !== undefined) return known;
    const content = Array.isArray(value)
      ? `[${value.map((entry) => this.of(entry)).join()}`
      : `{${Object.keys(value)
          .sort()
          .map((key) => `${JSON.stringify(key)}:${this.of(own(value as JsonObject, key))}`)
          .join()}`;
    const number = this.#numberOf(content);
    this.#ofContainer.set(value, number);
    return number;
  }

  #numberOf(content: unknown): number {
    const known = this.#ofContent.get(content);
    if (known !== undefined) return known;
    const number = this.#ofContent.size;
    this.#ofContent.set(content, number);
    return number;
  }
}

/**
 * Returns the key of a value that is not a container. The key of a text starts with a quotation mark, because
 * the key of a container is a text without this mark.
 */
function leafContent(value: Exclude<JsonValue, object> | undefined | null): unknown {
  if (typeof value === 'string') return `"${value}`;
  return Object.is(value, -0) ? '-0' : value;
}

/** Returns the entries of a list by name. Returns undefined if an entry has no name, or the name of another entry. */
function named(list: readonly JsonValue[]): ReadonlyMap<string, JsonValue> | undefined {
  const entries = new Map<string, JsonValue>();
  for (const entry of list) {
    const name = isJsonObject(entry) ? (entry['id'] ?? entry['name']) : undefined;
    if (typeof name !== 'string' || entries.has(name)) return undefined;
    entries.set(name, entry);
  }
  return entries;
}

function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
