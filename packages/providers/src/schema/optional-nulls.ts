import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { schemaAt } from './strict-schema.ts';

/**
 * Removes null from optional properties that do not accept null. A provider that enforces a schema requires
 * every property. A model therefore writes null for a property that it would otherwise omit.
 *
 * @example
 * withoutOptionalNulls(schema, { city: 'Brest', unit: null }); // { city: 'Brest' }
 */
export function withoutOptionalNulls(schema: JsonObject, value: JsonValue): JsonValue {
  return prune(value, alternatives(schema, schema), schema);
}

/**
 * Returns the value without null in optional properties that do not accept null. `schemas` contains all
 * schemas that may describe the value.
 */
function prune(value: JsonValue, schemas: readonly JsonObject[], root: JsonObject): JsonValue {
  if (Array.isArray(value)) return pruneList(value, schemas, root);
  if (!isJsonObject(value)) return value;
  let isChanged = false;
  const entries = Object.entries(value).flatMap(([name, one]) => {
    const known = schemas.filter((schema) => propertyOf(schema, name) !== undefined);
    const inner = known.flatMap((schema) => alternatives(propertyOf(schema, name), root));
    const isOptional = known.some(({ required }) => !listed(required).includes(name));
    if (one === null && isOptional && !inner.some(acceptsNull)) {
      isChanged = true;
      return [];
    }
    const pruned = prune(one, inner, root);
    isChanged ||= pruned !== one;
    return [[name, pruned] as const];
  });
  return isChanged ? Object.fromEntries(entries) : value;
}

function pruneList(
  values: readonly JsonValue[],
  schemas: readonly JsonObject[],
  root: JsonObject,
): JsonValue {
  const pruned = values.map((one, index) => {
    const inner = schemas.flatMap(({ items, prefixItems }) => {
      const own = listed(prefixItems)[index] ?? items;
      return alternatives(isJsonObject(own) ? own : undefined, root);
    });
    return prune(one, inner, root);
  });
  return pruned.every((one, index) => one === values[index]) ? (values as JsonValue) : pruned;
}

/** Maximum number of references to follow. A longer chain is probably a cycle. */
const maxReferences = 32;

/** Returns the schema, the schemas to which it refers, and all its alternatives. */
function alternatives(
  schema: JsonObject | undefined,
  root: JsonObject,
  left = maxReferences,
): readonly JsonObject[] {
  if (schema === undefined || left === 0) return [];
  const { $ref: reference, anyOf, oneOf, allOf } = schema;
  const named = typeof reference === 'string' ? [schemaAt(root, reference)] : [];
  const inner = [...listed(anyOf), ...listed(oneOf), ...listed(allOf)].filter(isJsonObject);
  const more = [...named, ...inner].flatMap((one) => alternatives(one, root, left - 1));
  return [schema, ...more];
}

function propertyOf({ properties }: JsonObject, name: string): JsonObject | undefined {
  const own =
    isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isJsonObject(own) ? own : undefined;
}

function listed(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Returns whether a schema accepts null. A schema without a type accepts null, except if it has one of the
 * listed keywords.
 */
function acceptsNull(schema: JsonObject): boolean {
  const { type, enum: values, const: only } = schema;
  if (only !== undefined) return only === null;
  if (Array.isArray(values)) return values.includes(null);
  if (Array.isArray(type)) return type.includes('null');
  if (type !== undefined) return type === 'null';
  return !['$ref', 'anyOf', 'oneOf', 'allOf', 'properties', 'items'].some((key) => key in schema);
}
