import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';

/**
 * The references of one schema, such as `#/$defs/address`. A hostile MCP server can send a schema with thousands of
 * references. The class looks up each reference once, and searches each schema for references once.
 */
export class SchemaReferences {
  readonly #root: JsonObject;
  readonly #found = new Map<string, JsonObject | undefined>();
  /** Tells for each schema whether the search for recursion is inside of it, or has left it. */
  readonly #visited = new Map<JsonObject, 'open' | 'done'>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** Returns the schema at a reference. */
  at(reference: string): JsonObject | undefined {
    if (!this.#found.has(reference)) this.#found.set(reference, schemaAt(this.#root, reference));
    return this.#found.get(reference);
  }

  /** Returns whether the schema at a reference is recursive, or uses a recursive schema. */
  isRecursive(reference: string): boolean {
    const path: (readonly [JsonObject, Iterator<string>])[] = [];
    const open = (schema: JsonObject) => {
      this.#visited.set(schema, 'open');
      path.push([schema, new Set(referencesIn(schema)).values()]);
    };
    const start = this.at(reference);
    if (start === undefined || this.#visited.get(start) === 'done') return false;
    open(start);
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const next = last[1].next();
      if (next.done) {
        this.#visited.set(last[0], 'done');
        path.pop();
        continue;
      }
      const schema = this.at(next.value);
      const state = schema && this.#visited.get(schema);
      if (state === 'open') return true;
      if (schema !== undefined && state === undefined) open(schema);
    }
    return false;
  }
}

function referencesIn(value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isJsonObject(value)) return [];
  const { $ref: own } = value;
  const inner = Object.values(value).flatMap(referencesIn);
  return typeof own === 'string' ? [own, ...inner] : inner;
}

function schemaAt(root: JsonObject, reference: string): JsonObject | undefined {
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
