import type { JsonObject, JsonValue } from '@millrace/core';
import { hasSameContent } from '../replay/divergence.ts';

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
 * `name` are compared with the entry of the same name. Other lists are compared after their common start.
 */
export function jsonChanges(before: JsonValue, after: JsonValue): readonly JsonChange[] {
  const changes: JsonChange[] = [];
  compare([], before, after, changes);
  return changes.slice(0, maxChanges);
}

type Path = readonly string[];

function compare(
  path: Path,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  changes: JsonChange[],
): void {
  if (hasSameContent(before, after) || changes.length >= maxChanges) return;
  if (Array.isArray(before) && Array.isArray(after))
    return compareLists(path, before, after, changes);
  if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare([...path, key], own(before, key), own(after, key), changes);
    return;
  }
  changes.push({ path, before, after });
}

function compareLists(
  path: Path,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  changes: JsonChange[],
): void {
  const [old, now] = [named(before), named(after)];
  if (old === undefined || now === undefined) return compareByIndex(path, before, after, changes);
  for (const name of new Set([...old.keys(), ...now.keys()]))
    compare([...path, name], old.get(name), now.get(name), changes);
  const common = (of: ReadonlyMap<string, JsonValue>, other: ReadonlyMap<string, JsonValue>) =>
    [...of.keys()].filter((name) => other.has(name));
  const [orderBefore, orderAfter] = [common(old, now), common(now, old)];
  if (!hasSameContent(orderBefore, orderAfter))
    changes.push({ path: [...path, 'order'], before: orderBefore, after: orderAfter });
}

function compareByIndex(
  path: Path,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  changes: JsonChange[],
): void {
  // An entry that was inserted in the middle moves all later entries.
  let start = 0;
  while (start < Math.min(before.length, after.length)) {
    if (!hasSameContent(before[start], after[start])) break;
    start++;
  }
  let end = 0;
  while (end < Math.min(before.length, after.length) - start) {
    if (!hasSameContent(before.at(-1 - end), after.at(-1 - end))) break;
    end++;
  }
  const length = Math.max(before.length, after.length) - end;
  for (let at = start; at < length; at++) {
    const old = at < before.length - end ? before[at] : undefined;
    const now = at < after.length - end ? after[at] : undefined;
    compare([...path, String(at)], old, now, changes);
  }
}

/** Returns the entries of a list by name. Returns undefined if an entry has no name, or the name of another entry. */
function named(list: readonly JsonValue[]): ReadonlyMap<string, JsonValue> | undefined {
  const entries = new Map<string, JsonValue>();
  for (const entry of list) {
    const name = isObject(entry) ? (entry['id'] ?? entry['name']) : undefined;
    if (typeof name !== 'string' || entries.has(name)) return undefined;
    entries.set(name, entry);
  }
  return entries;
}

function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
