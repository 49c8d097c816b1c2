import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';

/** Of anything that is not an object: no fields. */
export function fieldsOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** Of anything that is not an array: no entries. */
export function entriesOf(value: JsonValue | undefined): JsonArray {
  return isArray(value) ? value : [];
}

/** Of anything that is not text: none. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Of anything that is not a number: zero. */
export function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isArray(value);
}

function isArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** All text under a key of that name, however deep, in order. */
export function textsUnder(value: JsonValue | undefined, key: string): readonly string[] {
  if (isArray(value)) return value.flatMap((entry) => textsUnder(entry, key));
  return Object.entries(fieldsOf(value)).flatMap(([name, entry]) =>
    name === key && typeof entry === 'string' ? [entry] : textsUnder(entry, key),
  );
}

/** Each once, in the order in which they first came. */
export function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.filter((text) => text !== ''))];
}
