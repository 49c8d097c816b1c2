import type { JsonValue } from '@millrace/core';
import { entriesOf, fieldsOf, textOf } from './json-access.ts';

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
