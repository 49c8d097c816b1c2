import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from '@millrace/core';

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

/** Maximum number of fields of an object that arrives in pieces. No server sends this many fields. */
const maxFields = 256;

/**
 * The fields of an object that arrives in pieces. The work for a piece depends only on the size of the piece, not on
 * the pieces before it.
 */
export class GrowingObject {
  readonly #fields = new Map<string, JsonValue>();

  get isEmpty(): boolean {
    return this.#fields.size === 0;
  }

  get(name: string): JsonValue | undefined {
    return this.#fields.get(name);
  }

  /** Adds a field, or replaces its value. Above the maximum number of fields, a new field is ignored. */
  set(name: string, value: JsonValue): void {
    if (this.#fields.size < maxFields || this.#fields.has(name)) this.#fields.set(name, value);
  }

  get value(): JsonObject {
    return Object.fromEntries(this.#fields);
  }
}
