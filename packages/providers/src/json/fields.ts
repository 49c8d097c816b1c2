import { isJsonObject, type JsonArray, type JsonObject } from '@millrace/core';

// The functions in this file read JSON from providers. A field of an unexpected type is treated as missing.

export function objectIn(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object?.[key];
  return isJsonObject(value) ? value : undefined;
}

const emptyArray: JsonArray = [];

export function arrayIn(object: JsonObject | undefined, key: string): JsonArray {
  const value = object?.[key];
  return Array.isArray(value) ? value : emptyArray;
}

/** Returns the objects in an array field. Other values in the array are omitted. */
export function objectsIn(object: JsonObject | undefined, key: string): readonly JsonObject[] {
  const values = arrayIn(object, key);
  return values.every(isJsonObject) ? values : values.filter(isJsonObject);
}

/** Returns a string field that is not empty. Providers send '' for missing values. */
export function textIn(object: JsonObject | undefined, key: string): string | undefined {
  const value = object?.[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a number field that is not negative, rounded to an integer. */
export function countIn(object: JsonObject | undefined, key: string): number | undefined {
  const value = object?.[key];
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
    ? Math.round(value)
    : undefined;
}
