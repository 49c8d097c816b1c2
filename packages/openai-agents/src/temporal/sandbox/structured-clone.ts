/**
 * Copies a value. It replaces `structuredClone`, which does not exist in the workflow sandbox. The SDK uses
 * it to copy plain items. Temporal also uses it for log output, so it must never throw. It drops values that
 * are not data, such as functions, and returns errors without a copy.
 */
export function cloneOf<T>(value: T): T {
  return copy(value, new Map()) as T;
}

function copy(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (seen.has(value)) return seen.get(value);
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof Uint8Array) return value.slice();
  if (value instanceof Map || value instanceof Set) return copyCollection(value, seen);
  const made: object = Array.isArray(value) ? new Array(value.length) : {};
  seen.set(value, made);
  for (const [key, held] of Object.entries(value))
    if (typeof held !== 'function') Reflect.set(made, key, copy(held, seen));
  return made;
}

function copyCollection(
  value: Map<unknown, unknown> | Set<unknown>,
  seen: Map<object, unknown>,
): unknown {
  const made = value instanceof Map ? new Map<unknown, unknown>() : new Set<unknown>();
  seen.set(value, made);
  for (const [key, held] of value.entries()) {
    if (made instanceof Map) made.set(copy(key, seen), copy(held, seen));
    else made.add(copy(held, seen));
  }
  return made;
}
