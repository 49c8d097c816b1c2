import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';

/**
 * Returns the fields of the body. Returns an empty object if the body is not an object. `documentFaults`
 * reports values that are not JSON.
 */
export function requestOf(body: unknown): JsonObject {
  return isObject(body as JsonValue | undefined) ? (body as JsonObject) : {};
}

/** Returns a list that contains the fault if the condition is true, and otherwise an empty list. */
export function faultIf(isFault: boolean, fault: string): readonly string[] {
  return isFault ? [fault] : [];
}

/**
 * Returns the reasons why every provider would reject a request: values that are not JSON, lone
 * surrogates, and internal keys of this package.
 */
export function documentFaults(body: unknown): readonly string[] {
  return valueFaults(body, '');
}

/**
 * Keys of Millrace's own content parts. No provider has fields with these names, so a request must not
 * contain them. Values under `foreignPath` are user data and may contain such keys.
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
    // `Array.from` is used because `flatMap` skips the holes of an array.
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

/** A signature, with the content that it signs. */
export interface SignedContent {
  readonly signature: string;
  /** The signed text, or the name of the signed call. */
  readonly on: string;
}

/** Returns the value if it is an object, and otherwise an empty object. */
export function fieldsOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns the value if it is a string, and otherwise an empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the value if it is a number, and otherwise 0. */
export function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns whether the text is the JSON of an object. The arguments of a call must have this form. */
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

/** Returns the texts that occur more than once. */
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
