import type { JsonObject, JsonValue } from '@millrace/core';

/** Where two values differ, as paths such as `$.messages[1].content`; no more than `max` of them. */
export function jsonDifferences(
  a: JsonValue,
  b: JsonValue,
  max: number,
  path: string = '$',
): readonly string[] {
  if (a === b) return [];
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return [path];
  const found: string[] = [];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (found.length >= max) break;
    const inside = path + step(key, Array.isArray(a));
    if (!Object.hasOwn(a, key) || !Object.hasOwn(b, key)) found.push(inside);
    else found.push(...jsonDifferences(a[key] ?? null, b[key] ?? null, max - found.length, inside));
  }
  return found;
}

// Arrays too, whose keys are their indices: they are compared the same way.
function isContainer(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

const maxKeyLength = 40;

function step(key: string, isIndex: boolean): string {
  if (isIndex) return `[${key}]`;
  if (/^[A-Za-z_][\w-]*$/.test(key) && key.length <= maxKeyLength) return `.${key}`;
  return `[${JSON.stringify(key.slice(0, maxKeyLength))}]`;
}
