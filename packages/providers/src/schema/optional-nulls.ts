import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { SchemaReferences } from './schema-reference.ts';

/**
 * Removes null from optional properties that do not accept null. A provider that enforces a schema requires
 * every property. A model therefore writes null for a property that it would otherwise omit. The value stays
 * unchanged if the comparison with the schema would need too much work.
 *
 * @example
 * withoutOptionalNulls(schema, { city: 'Brest', unit: null }); // { city: 'Brest' }
 */
export function withoutOptionalNulls(schema: JsonObject, value: JsonValue): JsonValue {
  const described = new DescribedValues(schema);
  const pruned = prune(value, described.by([schema]));
  return described.isTooMuch ? value : pruned;
}

function prune(value: JsonValue, known: Description): JsonValue {
  if (Array.isArray(value)) {
    const pruned = value.map((one, index) => prune(one, known.entry(index)));
    return pruned.every((one, index) => one === value[index]) ? value : pruned;
  }
  if (!isJsonObject(value)) return value;
  let isChanged = false;
  const entries = Object.entries(value).flatMap(([name, one]) => {
    const { description, isOptional } = known.property(name);
    if (one === null && isOptional && !description.acceptsNull()) {
      isChanged = true;
      return [];
    }
    const pruned = prune(one, description);
    isChanged ||= pruned !== one;
    return [[name, pruned] as const];
  });
  return isChanged ? Object.fromEntries(entries) : value;
}

/**
 * Maximum number of schemas to look at for one value. Values and schemas may come from a hostile model or MCP
 * server.
 */
const maxVisits = 1_000_000;

/** Creates the descriptions of all values inside of one value. The same schemas get the same description. */
class DescribedValues {
  readonly #references: SchemaReferences;
  readonly #required = new Map<JsonObject, ReadonlySet<JsonValue>>();
  readonly #ids = new Map<JsonObject, number>();
  readonly #descriptions = new Map<string, Description>();
  #visits = 0;

  constructor(root: JsonObject) {
    this.#references = new SchemaReferences(root);
  }

  get isTooMuch(): boolean {
    return this.#visits > maxVisits;
  }

  /** Returns the description that consists of these schemas, and of all their alternatives. */
  by(schemas: readonly JsonObject[]): Description {
    if (this.isTooMuch) return new Description([], this);
    const own = new Set(schemas);
    const key = [...own].map((schema) => this.#idOf(schema)).join();
    const known = this.#descriptions.get(key);
    if (known !== undefined) return known;
    const description = new Description(this.#alternatives(own), this);
    this.#descriptions.set(key, description);
    return description;
  }

  /** Counts the work with some schemas. */
  visit(schemas: readonly JsonObject[]): readonly JsonObject[] {
    this.#visits += schemas.length;
    return this.isTooMuch ? [] : schemas;
  }

  /** Returns the names of the required properties. */
  requiredBy(schema: JsonObject): ReadonlySet<JsonValue> {
    const required = this.#required.get(schema) ?? new Set(listed(schema['required']));
    this.#required.set(schema, required);
    return required;
  }

  #idOf(schema: JsonObject): number {
    const id = this.#ids.get(schema) ?? this.#ids.size;
    this.#ids.set(schema, id);
    return id;
  }

  /** Returns the schemas, the schemas to which they refer, and all their alternatives, each of them once. */
  #alternatives(schemas: ReadonlySet<JsonObject>): readonly JsonObject[] {
    const all = new Set(schemas);
    for (const { $ref: reference, anyOf, oneOf, allOf } of all) {
      const named = typeof reference === 'string' ? [this.#references.at(reference)] : [];
      const inner = [...named, ...listed(anyOf), ...listed(oneOf), ...listed(allOf)];
      for (const one of inner) if (isJsonObject(one)) all.add(one);
    }
    return this.visit([...all]);
  }
}

interface Property {
  readonly description: Description;
  readonly isOptional: boolean;
}

/** All schemas that may describe a value. */
class Description {
  readonly #schemas: readonly JsonObject[];
  readonly #values: DescribedValues;
  readonly #properties = new Map<string, Property>();
  readonly #entries = new Map<number, Description>();
  /** The number of the first entries of a list that have schemas of their own. */
  readonly #prefixLength: number;
  #acceptsNull: boolean | undefined;

  constructor(schemas: readonly JsonObject[], values: DescribedValues) {
    this.#schemas = schemas;
    this.#values = values;
    this.#prefixLength = Math.max(
      0,
      ...schemas.map(({ prefixItems }) => listed(prefixItems).length),
    );
  }

  property(name: string): Property {
    const known = this.#properties.get(name);
    if (known !== undefined) return known;
    const schemas = this.#values.visit(this.#schemas);
    const owners = schemas.filter((schema) => propertyOf(schema, name) !== undefined);
    const own = owners.map((schema) => propertyOf(schema, name)).filter((one) => one !== undefined);
    const property = {
      description: this.#values.by(own),
      isOptional: owners.some((schema) => !this.#values.requiredBy(schema).has(name)),
    };
    this.#properties.set(name, property);
    return property;
  }

  entry(index: number): Description {
    const at = Math.min(index, this.#prefixLength);
    const known = this.#entries.get(at);
    if (known !== undefined) return known;
    const inner = this.#values
      .visit(this.#schemas)
      .map(({ items, prefixItems }) => listed(prefixItems)[at] ?? items)
      .filter((own) => isJsonObject(own));
    const description = this.#values.by(inner);
    this.#entries.set(at, description);
    return description;
  }

  acceptsNull(): boolean {
    this.#acceptsNull ??= this.#schemas.some(acceptsNull);
    return this.#acceptsNull;
  }
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
