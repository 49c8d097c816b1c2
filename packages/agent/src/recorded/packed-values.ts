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
  const packer = new ValuePacker();
  return { packed: all.map((value) => packer.add(value).packed), values: packer.values };
}

/** A value in two forms. */
interface PackedValue {
  /** The value with references instead of long parts. */
  readonly packed: JsonValue;
  /** The whole value. Its long parts are the same objects as the equal parts of earlier values. */
  readonly shared: JsonValue;
}

/**
 * Packs values one after the other. The requests of a session repeat its history, so their copies would grow with
 * the square of the number of turns. The packer keeps each long part once, and counts the bytes of the lines.
 */
export class ValuePacker {
  /** The long parts. A part refers only to parts before it. */
  readonly values: JsonValue[] = [];
  readonly #shared: JsonValue[] = [];
  readonly #places = new Map<string, number>();
  #byteLength = 0;

  /** The size of all parts and packed values as lines of a file, in bytes. */
  get byteLength(): number {
    return this.#byteLength;
  }

  add(value: JsonValue): PackedValue {
    const both = this.#content(value);
    this.#byteLength += lineLength(JSON.stringify(both.packed));
    return both;
  }

  #pack(value: JsonValue): PackedValue {
    const { packed, shared } = this.#content(value);
    const json = JSON.stringify(packed);
    if (json.length < minLength) return { packed, shared };
    const known = this.#places.get(json);
    const place = known ?? this.values.length;
    if (known === undefined) {
      this.values.push(packed);
      this.#shared.push(shared);
      this.#places.set(json, place);
      this.#byteLength += lineLength(json);
    }
    return { packed: { [key]: place }, shared: this.#shared[place] ?? shared };
  }

  #content(value: JsonValue): PackedValue {
    if (Array.isArray(value)) {
      const entries = value.map((entry) => this.#pack(entry));
      return {
        packed: entries.map(({ packed }) => packed),
        shared: entries.map(({ shared }) => shared),
      };
    }
    if (!isObject(value)) return { packed: value, shared: value };
    const fields = Object.entries(value).map(([name, entry]) => [name, this.#pack(entry)] as const);
    const packed = fields.map(([name, entry]) => [name, entry.packed] as const);
    return {
      packed: Object.hasOwn(value, key) ? { [key]: packed as never } : Object.fromEntries(packed),
      shared: Object.fromEntries(fields.map(([name, entry]) => [name, entry.shared])),
    };
  }
}

/** Returns the bytes of a text as a line of a file. */
export function lineLength(text: string): number {
  return new TextEncoder().encode(text).length + 1;
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
