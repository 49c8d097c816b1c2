import { fromBase64, toBase64 } from '@millrace/core';

// A snapshot part is stored as text: a checksum, a space, and JSON. JSON has no maps, sets, bytes and
// infinite numbers. Such a value becomes an object with one key that starts with `$`. If an object of the
// caller has a key that starts with `$`, the key gets a second `$`.

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
  // The text `{"$` cannot occur inside a JSON string, because JSON writes a quote there as `\"`. Most parts
  // do not contain `{"$`, so they need no reviver function. Parsing without a reviver is much faster.
  return json.includes('{"$') ? JSON.parse(json, fromJson) : JSON.parse(json);
}

/**
 * Encodes one value for `JSON.stringify`. `value` may be the result of `toJSON`, which Buffer has. The
 * original value is therefore read from its owner, `this`.
 */
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

/** Returns whether a value is an object with exactly one key, and this key starts with `$`. */
function isMarked(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const keys = markedKeys(value);
  return keys.length === 1 && keys[0]?.startsWith('$') === true;
}

/**
 * Returns the keys of the object whose values are not undefined. If no key starts with `$`, it returns no
 * keys, because the caller then needs no further work.
 */
function markedKeys(value: object): readonly string[] {
  const keys = Object.keys(value);
  if (!keys.some((key) => key.startsWith('$'))) return [];
  return keys.filter((key) => (value as Readonly<Record<string, unknown>>)[key] !== undefined);
}

/**
 * Returns a checksum of the text with 32 bits (FNV-1a). It detects damage, but it does not protect against
 * forgery.
 */
function checksum(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(36);
}
