import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';

/** Returns whether the schema at a reference refers back to the same reference. */
export function isRecursive(root: JsonObject, reference: string): boolean {
  const reached = new Set<string>();
  const left = [reference];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const found = referencesIn(schemaAt(root, next));
    if (found.includes(reference)) return true;
    left.push(...found.filter((one) => !reached.has(one)));
    for (const one of found) reached.add(one);
  }
  return false;
}

function referencesIn(value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isJsonObject(value)) return [];
  const { $ref: own } = value;
  const inner = Object.values(value).flatMap(referencesIn);
  return typeof own === 'string' ? [own, ...inner] : inner;
}

/** Returns the schema at a reference such as `#/$defs/address`. */
export function schemaAt(root: JsonObject, reference: string): JsonObject | undefined {
  let at: JsonValue | undefined = root;
  for (const name of reference.split('/').slice(1)) {
    const key = decoded(name)?.replaceAll('~1', '/').replaceAll('~0', '~');
    at = key !== undefined && isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return isJsonObject(at) ? at : undefined;
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
