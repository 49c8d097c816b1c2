import type { JsonValue } from '@millrace/core';

/** The value with half surrogate pairs replaced, which arguments may have as escapes: the API refuses them. */
export function wellFormedValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (isArray(value)) return value.map(wellFormedValue);
  const entries = Object.entries(value).map(([key, field]) => [
    key.toWellFormed(),
    wellFormedValue(field),
  ]);
  return Object.fromEntries(entries);
}

/** Array.isArray, which does not narrow a readonly array by itself. */
function isArray(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
