import { fromBase64, toBase64 } from '@millrace/core';

// The text of a snapshot part: a checksum, a space, and JSON. JSON has no maps, sets, bytes and infinite
// numbers, so they are objects with one key that starts with `$`. Objects of the caller with such a key
// get a second `$`.

/**
 * Encodes a value that consists of JSON values, maps, sets, bytes and numbers. Properties with the value
 * `undefined` are left out.
 */
export function encodePart(value: unknown): string {
  const json = JSON.stringify(value, toJson);
  return `${checksum(json)} ${json}`;
}

/** Decodes a part. Returns undefined if the text is damaged. */
export function decodePart(body: string): unknown {
  const end = body.indexOf(' ');
  const json = body.slice(end + 1);
  if (end < 0 || body.slice(0, end) !== checksum(json)) return undefined;
  // Inside of a string the quote would have a backslash. Most parts have no such object, and parsing
  // without a function is much faster.
  return json.includes('{"$') ? JSON.parse(json, fromJson) : JSON.parse(json);
}

/** `value` is what `toJSON` returned, which Buffer has. So the original is read from its owner. */
function toJson(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Readonly<Record<string, unknown>>)[key];
  if (original instanceof Uint8Array) return { $bytes: toBase64(original) };
  if (original instanceof Map) return { $map: [...original] };
  if (original instanceof Set) return { $set: [...original] };
  if (typeof value === 'number' && !Number.isFinite(value)) return { $number: String(value) };
  return isMarked(value) ? escaped(value) : value;
}

function escaped(value: Readonly<Record<string, unknown>>): unknown {
  const [key = ''] = markedKeys(value);
  return { [`$${key}`]: value[key] };
}

function fromJson(_key: string, value: unknown): unknown {
  if (!isMarked(value)) return value;
  const [key = ''] = markedKeys(value);
  const content = value[key];
  switch (key) {
    case '$bytes':
      return fromBase64(content as string);
    case '$map':
      return new Map(content as readonly (readonly [unknown, unknown])[]);
    case '$set':
      return new Set(content as readonly unknown[]);
    case '$number':
      return Number(content);
    default:
      return { [key.slice(1)]: content };
  }
}

/** True for an object with one key, which starts with `$`. */
function isMarked(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const keys = markedKeys(value);
  return keys.length === 1 && keys[0]?.startsWith('$') === true;
}

/** The keys that JSON has for the object. Most objects have none that starts with `$`. */
function markedKeys(value: object): readonly string[] {
  const keys = Object.keys(value);
  if (!keys.some((key) => key.startsWith('$'))) return [];
  return keys.filter((key) => (value as Readonly<Record<string, unknown>>)[key] !== undefined);
}

/** A checksum of 32 bits (FNV-1a) over the text. It finds damage and is no protection from forgery. */
function checksum(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(36);
}
