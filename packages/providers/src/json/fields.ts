import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';

// What providers send is read by these, so that a field of another type counts as absent.

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectIn(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object?.[key];
  return isObject(value) ? value : undefined;
}

const emptyArray: JsonArray = [];

export function arrayIn(object: JsonObject | undefined, key: string): JsonArray {
  const value = object?.[key];
  return Array.isArray(value) ? value : emptyArray;
}

/** The objects of an array; what else is in it is left out. */
export function objectsIn(object: JsonObject | undefined, key: string): readonly JsonObject[] {
  const values = arrayIn(object, key);
  return values.every(isObject) ? values : values.filter(isObject);
}

/** A text that is not empty: providers say '' for what they do not have. */
export function textIn(object: JsonObject | undefined, key: string): string | undefined {
  const value = object?.[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A count: not negative, not fractional. */
export function countIn(object: JsonObject | undefined, key: string): number | undefined {
  const value = object?.[key];
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
    ? Math.round(value)
    : undefined;
}
