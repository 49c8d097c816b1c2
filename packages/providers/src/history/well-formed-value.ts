import type { JsonValue } from '@millrace/core';

/**
 * The value with half surrogate pairs replaced, which arguments may have as escapes: most providers
 * refuse them. The same value where there is none.
 */
export function wellFormedValue<V extends JsonValue>(value: V): V {
  return isWellFormed(value) ? value : (repaired(value) as V);
}

function isWellFormed(value: JsonValue): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (isArray(value)) return value.every(isWellFormed);
  return Object.entries(value).every(([key, field]) => key.isWellFormed() && isWellFormed(field));
}

function repaired(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (isArray(value)) return value.map(repaired);
  const entries = Object.entries(value).map(([key, field]) => [
    key.toWellFormed(),
    repaired(field),
  ]);
  return Object.fromEntries(entries);
}

/** Array.isArray, which does not narrow a readonly array by itself. */
function isArray(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
