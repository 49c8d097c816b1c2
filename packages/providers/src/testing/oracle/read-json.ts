import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';
import { parseReference } from '../../../../core/src/testing/parse-reference.ts';

/**
 * Parses a line. Returns undefined if it is not JSON. Lines with escapes are parsed by a reference
 * parser. The engine's JSON.parse has a defect with escaped keys, and the oracle must not share it.
 */
export function parseLine(line: string): JsonValue | undefined {
  try {
    return line.includes('\\') ? parseReference(line) : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Parses the arguments of a tool call. An empty text means no arguments. */
export function parseArguments(text: string): JsonValue | undefined {
  return text === '' ? {} : parseLine(text);
}

/** Returns whether a line is a comment. Some gateways send a comment as data. */
export function isComment(line: string): boolean {
  return line.startsWith(':');
}

/** Returns the value if it is an object, and otherwise an empty object. */
export function fieldsOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns the value if it is an array, and otherwise an empty array. */
export function entriesOf(value: JsonValue | undefined): JsonArray {
  return isArray(value) ? value : [];
}

/** Returns the value if it is a string, and otherwise an empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the value if it is a number, and otherwise 0. */
export function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isArray(value);
}

function isArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** Returns all texts under this key at any depth, in order. */
export function textsUnder(value: JsonValue | undefined, key: string): readonly string[] {
  if (isArray(value)) return value.flatMap((entry) => textsUnder(entry, key));
  return Object.entries(fieldsOf(value)).flatMap(([name, entry]) =>
    name === key && typeof entry === 'string' ? [entry] : textsUnder(entry, key),
  );
}

/**
 * Returns the texts that are not empty, without duplicates, in the order of their first appearance.
 */
export function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.filter((text) => text !== ''))];
}

/** Returns the value with `leaf` set at a path such as `$.legs[0].from` or `$['a.b']`. */
export function atPath(value: JsonValue | undefined, path: string, leaf: JsonValue): JsonValue {
  const steps = [...path.matchAll(/\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]|\.([^.[]+)/g)];
  return put(
    value,
    steps.map(([, index, ...names]) =>
      index === undefined ? textOf(names.find(Boolean)) : Number(index),
    ),
    leaf,
  );
}

function put(
  value: JsonValue | undefined,
  [step, ...rest]: readonly (string | number)[],
  leaf: JsonValue,
): JsonValue {
  if (step === undefined) return leaf;
  if (typeof step === 'number') {
    const list = [...entriesOf(value)];
    list[step] = put(list[step], rest, leaf);
    return list;
  }
  // A map is used, so that `__proto__` is a normal key.
  const fields = new Map(Object.entries(fieldsOf(value)));
  return Object.fromEntries(fields.set(step, put(fields.get(step), rest, leaf)));
}
