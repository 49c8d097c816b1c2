import type { JsonValue } from '../json/json-value.ts';

/**
 * Parses JSON without the fault of JSON.parse that `hasEscapedKey` describes. The fault affects
 * only keys, so this function parses each key as a value and then puts it back.
 */
export function parseReference(text: string): JsonValue {
  const keys: unknown[] = [];
  const placed = text.replace(
    /("(?:[^"\\]|\\.)*")(\s*:)?/gs,
    (literal: string, key: string, rest: string | undefined) =>
      rest === undefined ? literal : `"k${keys.push(JSON.parse(key)) - 1}"${rest}`,
  );
  return renamed(JSON.parse(placed), keys);
}

function renamed(value: JsonValue, keys: readonly unknown[]): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => renamed(entry, keys));
  const result = {};
  for (const [placeholder, entry] of Object.entries<JsonValue>(value)) {
    const key = String(keys[Number(placeholder.slice(1))]);
    const property = { value: renamed(entry, keys), writable: true, enumerable: true };
    Object.defineProperty(result, key, { ...property, configurable: true });
  }
  return result;
}
