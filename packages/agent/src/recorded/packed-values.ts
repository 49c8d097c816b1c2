import type { JsonObject, JsonValue } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';

/** Values in which long parts are replaced with references to a list. */
export interface PackedValues {
  /** The long parts. A part refers only to parts before it. */
  readonly values: readonly JsonValue[];
  readonly packed: readonly JsonValue[];
}

/** The key of a reference. Objects with this key are escaped. */
const key = '$';
/** A shorter value is not replaced, because the reference would save nothing. */
const minLength = 40;

/** Replaces long parts that occur in several values with references. */
export function packValues(all: readonly JsonValue[]): PackedValues {
  const values: JsonValue[] = [];
  const places = new Map<string, number>();
  const pack = (value: JsonValue): JsonValue => {
    const short = packContent(value, pack);
    const json = JSON.stringify(short);
    if (json.length < minLength) return short;
    const place = places.get(json) ?? values.length;
    if (place === values.length) values.push(short);
    places.set(json, place);
    return { [key]: place };
  };
  return { packed: all.map((value) => packContent(value, pack)), values };
}

function packContent(value: JsonValue, pack: (value: JsonValue) => JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(pack);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).map(([name, entry]) => [name, pack(entry)] as const);
  return Object.hasOwn(value, key) ? { [key]: fields as never } : Object.fromEntries(fields);
}

/**
 * Maximum number of values in an unpacked value. A few short lines can refer to each other so that they
 * describe more values than a machine can hold.
 */
const maxValues = 2 ** 20;

/** Returns a value with the parts that its references name. */
export function unpackValue(packed: JsonValue, values: readonly JsonValue[]): JsonValue {
  const unpacked: { readonly value: JsonValue; readonly count: number }[] = [];
  let count = 0;
  const unpack = (value: JsonValue, end: number): JsonValue => {
    if (++count > maxValues) throw badRecording('a request has too many values');
    if (Array.isArray(value)) return value.map((entry) => unpack(entry, end));
    if (!isObject(value)) return value;
    const at = value[key];
    if (typeof at === 'number') {
      const found = at < end ? values[at] : undefined;
      if (found === undefined) throw badRecording('a line refers to a missing line');
      const known = unpacked[at];
      if (known !== undefined) {
        count += known.count;
        return known.value;
      }
      const before = count;
      const part = unpack(found, at);
      unpacked[at] = { value: part, count: count - before };
      return part;
    }
    const fields = Array.isArray(at)
      ? (at as readonly (readonly [string, JsonValue])[])
      : Object.entries(value);
    return Object.fromEntries(fields.map(([name, entry]) => [name, unpack(entry, end)]));
  };
  return unpack(packed, values.length);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

/** Returns the error for a file that is not a recording. */
export function badRecording(why: string, cause?: unknown): AgentError {
  const message = `Cannot read the recording: ${why}. Create it again with millrace sessions pin`;
  return new AgentError('bad_recording', message, {}, { cause });
}
