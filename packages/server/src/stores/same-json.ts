import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';

type Objects = Readonly<Record<string, JsonValue | undefined>>;

// Caches the number of keys of an object. V8 needs time for each key to count them, and a request compares the
// same object with many values.
const keyCounts = new WeakMap<object, number>();

/**
 * Returns whether a stored value equals a wanted value. The order of keys does not matter. The time depends on
 * the size of the wanted value, because the comparison ends at the first difference. A comparison of two JSON
 * texts would read all of the stored value.
 */
export function isSameJson(stored: JsonValue | undefined, wanted: JsonValue): boolean {
  if (typeof stored !== 'object' || typeof wanted !== 'object') return stored === wanted;
  if (stored === null || wanted === null) return stored === wanted;
  if (isList(stored) && isList(wanted))
    return (
      stored.length === wanted.length && wanted.every((value, at) => isSameJson(stored[at], value))
    );
  if (isList(stored) || isList(wanted)) return false;
  return hasFields(stored, wanted) && countKeys(stored) === countKeys(wanted);
}

const isList = (value: JsonArray | JsonObject): value is JsonArray => Array.isArray(value);

/** Returns whether a stored object has all fields of the wanted object, with the same values. */
export function hasFields(stored: Objects, wanted: Objects): boolean {
  return Object.entries(wanted).every(
    ([key, value]) =>
      value === undefined || (Object.hasOwn(stored, key) && isSameJson(stored[key], value)),
  );
}

function countKeys(value: Objects): number {
  const known = keyCounts.get(value);
  if (known !== undefined) return known;
  const count = Object.values(value).filter((field) => field !== undefined).length;
  keyCounts.set(value, count);
  return count;
}
