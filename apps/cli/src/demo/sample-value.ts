import type { JsonObject, JsonValue } from '@millrace/core';

const maxDepth = 8;

/**
 * Returns a small sample value for a simple JSON schema. The demo uses it for structured answers.
 */
export function sampleValue(schema: JsonValue | undefined, depth = 0): JsonValue {
  if (typeof schema !== 'object' || schema === null || isList(schema)) return null;
  const { const: only, enum: choices, default: usual, anyOf, oneOf, type } = schema;
  if (only !== undefined) return only;
  if (usual !== undefined) return usual;
  if (isList(choices)) return choices[0] ?? null;
  const options = anyOf ?? oneOf;
  if (isList(options)) return sampleValue(options[0], depth);
  switch (isList(type) ? type[0] : type) {
    case 'object':
      return depth < maxDepth ? sampleObject(schema, depth) : {};
    case 'array':
      return depth < maxDepth && Number(schema['minItems'] ?? 0) > 0
        ? Array.from({ length: Number(schema['minItems']) }, () =>
            sampleValue(schema['items'], depth + 1),
          )
        : [];
    case 'string':
      return 'demo'.padEnd(Number(schema['minLength'] ?? 0), '.');
    case 'integer':
    case 'number':
      return sampleNumber(schema);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function sampleObject({ properties, required }: JsonObject, depth: number): JsonObject {
  if (typeof properties !== 'object' || properties === null || isList(properties)) return {};
  const wanted = isList(required) ? required : [];
  const entries = Object.entries(properties)
    .filter(([name]) => wanted.includes(name))
    .map(([name, schema]) => [name, sampleValue(schema, depth + 1)] as const);
  return Object.fromEntries(entries);
}

/** Returns the allowed number that is closest to 1. */
function sampleNumber(schema: JsonObject): number {
  const { minimum, exclusiveMinimum, maximum } = schema;
  const least = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : minimum;
  if (typeof least === 'number') return Math.max(least, 1);
  return typeof maximum === 'number' ? Math.min(maximum, 1) : 1;
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
