import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';

/** The fields of the body. `documentFaults` reports values that are not JSON. */
export function requestOf(body: unknown): JsonObject {
  return isObject(body as JsonValue | undefined) ? (body as JsonObject) : {};
}

/** A list with the fault if the condition is true, otherwise an empty list. */
export function faultIf(isFault: boolean, fault: string): readonly string[] {
  return isFault ? [fault] : [];
}

/**
 * Finds content that no provider accepts: non-JSON values, lone surrogates, and internal keys of
 * this package.
 */
export function documentFaults(body: unknown): readonly string[] {
  return valueFaults(body, '');
}

/**
 * Keys of our own parts. The values under the foreign paths belong to the user and may use the same
 * keys.
 */
const internalKeys = new Set([
  'partial',
  'partId',
  'itemId',
  'toolCallId',
  'providerState',
  'isError',
]);
const foreignPath =
  /\.(?:input|args|response|parameters|input_schema|parametersJsonSchema|schema|responseSchema|metadata)$/;

function valueFaults(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') return faultIf(!value.isWellFormed(), `${path}: a lone surrogate`);
  if (typeof value === 'number')
    return faultIf(!Number.isFinite(value), `${path}: not a JSON number`);
  if (value === null || typeof value === 'boolean') return [];
  if (Array.isArray(value)) {
    // By index, because flatMap would skip holes.
    return Array.from(value, (entry, index) => valueFaults(entry, `${path}[${index}]`)).flat();
  }
  if (typeof value !== 'object') return [`${path}: ${typeof value} is not JSON`];
  return Object.entries(value).flatMap(([key, entry]) => [
    ...faultIf(!key.isWellFormed(), `${path}: a lone surrogate in a key`),
    ...faultIf(
      internalKeys.has(key) && !foreignPath.test(path),
      `${path}.${key}: a mark of our own`,
    ),
    ...valueFaults(entry, isForeign(path) ? path : `${path}.${key}`),
  ]);
}

const isForeign = (path: string) => foreignPath.test(path);

/** A signature with the content that it belongs to. */
export interface SignedContent {
  readonly signature: string;
  /** The text, or the name of the call. */
  readonly on: string;
}

/** The fields of an object. Any other value has no fields. */
export function fieldsOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** A string value. Any other value gives an empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** A number value. Any other value gives zero. */
export function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** Checks for the JSON text of an object, which arguments must be. */
export function isObjectText(text: JsonValue | undefined): boolean {
  if (typeof text !== 'string') return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

export function isNonEmptyText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '';
}

export function isList(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** The texts that occur more than once. */
export function repeated(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.filter((text, index) => texts.indexOf(text) !== index))];
}

export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  const entries = isList(value) ? value : [];
  return entries.map((entry) => (isObject(entry) ? entry : {}));
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value);
}
