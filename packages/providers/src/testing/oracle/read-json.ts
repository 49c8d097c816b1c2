import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';
import { parseReference } from '../../../../core/src/testing/parse-reference.ts';

/**
 * The value of a line, or undefined if it is not JSON. Lines with an escape are read around the fault
 * of the engine's JSON.parse with escaped keys, since the oracle must not share it with what it judges.
 */
export function parseLine(line: string): JsonValue | undefined {
  try {
    return line.includes('\\') ? parseReference(line) : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** What a tool call's arguments say: nothing means no arguments. */
export function parseArguments(text: string): JsonValue | undefined {
  return text === '' ? {} : parseLine(text);
}

/** Some gateways wrap a comment as data. */
export function isComment(line: string): boolean {
  return line.startsWith(':');
}

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

/** The value with `leaf` at a path such as `$.legs[0].from` or `$['a.b']`. */
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
  // Through a map, so that `__proto__` is a key like any other.
  const fields = new Map(Object.entries(fieldsOf(value)));
  return Object.fromEntries(fields.set(step, put(fields.get(step), rest, leaf)));
}
