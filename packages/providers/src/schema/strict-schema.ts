import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { SchemaReferences } from './schema-reference.ts';

/** The features that a provider accepts in an enforced schema. */
export interface StrictRules {
  /** True if every property must be required. In this case, optional properties accept null. */
  readonly allRequired: boolean;
  /** True if a schema may refer to itself. */
  readonly takesRecursion: boolean;
  /** True if the root of a schema may be a choice (`anyOf`). */
  readonly takesRootChoice: boolean;
  /** The constraints that the provider enforces. All other constraints are written into the description. */
  readonly constraints: readonly string[];
  readonly formats: readonly string[];
  readonly maxDepth: number;
  readonly maxProperties: number;
}

const formats = [
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
];

export const openaiStrictRules: StrictRules = {
  allRequired: true,
  takesRecursion: true,
  takesRootChoice: false,
  constraints: [
    ...['pattern', 'format', 'multipleOf', 'minimum', 'maximum'],
    ...['exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'],
  ],
  formats,
  maxDepth: 10,
  maxProperties: 5000,
};

export const anthropicStrictRules: StrictRules = {
  allRequired: false,
  takesRecursion: false,
  takesRootChoice: true,
  constraints: ['format'],
  formats: [...formats, 'uri'],
  maxDepth: 32,
  maxProperties: 5000,
};

export type StrictSchema =
  | { readonly isStrict: true; readonly schema: JsonObject }
  /** The schema cannot be enforced. `reason` explains why. */
  | { readonly isStrict: false; readonly reason: string };

/**
 * Converts a JSON Schema to a form that the provider can enforce. Objects then allow no additional
 * properties. If the rules demand it, all properties are required. Constraints that the provider does not
 * support are written into the description. A schema is not converted if its meaning would change. Use
 * `withoutOptionalNulls` to remove the nulls from the output.
 */
export function strictSchema(schema: JsonObject, rules: StrictRules): StrictSchema {
  try {
    return { isStrict: true, schema: new Converter(schema, rules).convertRoot() };
  } catch (error) {
    if (error instanceof NotStrict) return { isStrict: false, reason: error.message };
    throw error;
  }
}

/** A schema in the form in which it is sent, and a flag that tells whether the provider enforces it. */
export interface SentSchema {
  readonly schema: JsonObject;
  readonly strict: boolean;
}

/**
 * Returns the strict form of a schema. A schema that cannot be enforced is returned unchanged, and a message
 * is added to `warnings`.
 */
export function enforcedSchema(
  { name, schema }: { readonly name: string; readonly schema: JsonObject },
  rules: StrictRules,
  warnings: string[],
): SentSchema {
  const strict = strictSchema(schema, rules);
  if (strict.isStrict) return { schema: strict.schema, strict: true };
  warnings.push(`The schema of ${name} is not enforced: ${strict.reason}`);
  return { schema, strict: false };
}

class NotStrict extends Error {}

/** The keywords that do not restrict the value. */
const annotations = new Set([
  '$schema',
  '$id',
  '$comment',
  'default',
  'examples',
  'readOnly',
  'writeOnly',
  'deprecated',
]);
const kept = new Set(['type', 'description', 'title', 'enum', 'const', '$ref']);
/** The constraints that may be moved into the description, because the caller checks them anyway. */
const describable = new Set([
  ...['pattern', 'format', 'minLength', 'maxLength', 'multipleOf', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties'],
]);

class Converter {
  readonly #root: JsonObject;
  readonly #rules: StrictRules;
  readonly #references: SchemaReferences;
  #properties = 0;

  constructor(root: JsonObject, rules: StrictRules) {
    this.#root = root;
    this.#references = new SchemaReferences(root);
    this.#rules = rules;
  }

  convertRoot(): JsonObject {
    const root = this.#convert(this.#root, '#', 0);
    const isObjectSchema = root['type'] === 'object';
    if (!isObjectSchema && !(this.#rules.takesRootChoice && 'anyOf' in root)) {
      throw new NotStrict('the root is not an object');
    }
    return root;
  }

  #convert(schema: JsonObject, path: string, depth: number): JsonObject {
    if (depth > this.#rules.maxDepth) throw new NotStrict(`${path} is nested too deeply`);
    const result: Record<string, JsonValue> = {};
    const notes: string[] = [];
    for (const [key, value] of Object.entries(schema)) {
      const at = `${path}/${key}`;
      if (annotations.has(key)) continue;
      else if (key === '$ref') result[key] = this.#reference(value, at);
      else if (kept.has(key)) result[key] = value;
      else if (describable.has(key)) this.#constrain(result, notes, key, value);
      else if (key === 'items') result[key] = this.#convertSub(value, at, depth);
      else if (key === 'anyOf' || key === 'oneOf') {
        result['anyOf'] = listOf(value, at).map((one, index) =>
          this.#convertSub(one, `${at}/${index}`, depth),
        );
      } else if (key === 'allOf' && !isObjectSchema(schema)) {
        Object.assign(result, this.#onlyOne(value, at, depth));
      } else if (key === '$defs' || key === 'definitions') {
        result[key] = mapValues(value, at, (one, name) =>
          this.#convertSub(one, `${at}/${name}`, 0),
        );
      } else if (!objectKeywords.has(key)) throw new NotStrict(`${at} cannot be enforced`);
    }
    if (isObjectSchema(schema)) Object.assign(result, this.#object(schema, path, depth));
    if (!meanings.some((key) => key in result)) throw new NotStrict(`${path} accepts any value`);
    return notes.length === 0 ? result : { ...result, description: described(result, notes) };
  }

  #convertSub(value: JsonValue, path: string, depth: number): JsonObject {
    if (!isJsonObject(value)) throw new NotStrict(`${path} is not an object`);
    return this.#convert(value, path, depth + 1);
  }

  #constrain(
    result: Record<string, JsonValue>,
    notes: string[],
    key: string,
    value: JsonValue,
  ): void {
    const { constraints, formats: known } = this.#rules;
    const isKnown =
      constraints.includes(key) && (key !== 'format' || known.includes(String(value)));
    if (isKnown) result[key] = value;
    else notes.push(`${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }

  #onlyOne(value: JsonValue, path: string, depth: number): JsonObject {
    const [only, ...more] = listOf(value, path);
    if (only === undefined || more.length > 0) throw new NotStrict(`${path} has several schemas`);
    return this.#convertSub(only, `${path}/0`, depth - 1);
  }

  #reference(value: JsonValue, path: string): JsonValue {
    if (typeof value !== 'string' || !value.startsWith('#')) {
      throw new NotStrict(`${path} refers to another document`);
    }
    if (this.#rules.takesRecursion) return value;
    if (this.#references.isRecursive(value)) throw new NotStrict(`${path} is recursive`);
    return value;
  }

  #object(schema: JsonObject, path: string, depth: number): JsonObject {
    const { properties, required = [], additionalProperties = false } = schema;
    const isOpen = properties === undefined && schema['additionalProperties'] === undefined;
    if (additionalProperties !== false || isOpen) {
      throw new NotStrict(`${path} accepts any property`);
    }
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    this.#properties += names.length;
    if (this.#properties > this.#rules.maxProperties) {
      throw new NotStrict('the schema has too many properties');
    }
    const needed = new Set(Array.isArray(required) ? required : []);
    const isRequired = (name: string) => needed.has(name);
    const converted = mapValues(properties ?? {}, `${path}/properties`, (one, name) => {
      const sub = this.#convertSub(one, `${path}/properties/${name}`, depth);
      return this.#rules.allRequired && !isRequired(name) ? nullable(sub) : sub;
    });
    return {
      type: schema['type'] ?? 'object',
      properties: converted,
      required: this.#rules.allRequired ? names : names.filter(isRequired),
      additionalProperties: false,
    };
  }
}

/** The keywords that restrict the value. A schema without any of these keywords accepts every value. */
const meanings = ['type', 'enum', 'const', '$ref', 'anyOf'];

/** The keywords that the method `#object` reads. */
const objectKeywords = new Set(['properties', 'required', 'additionalProperties']);

function isObjectSchema({ type, properties }: JsonObject): boolean {
  if (Array.isArray(type)) return type.includes('object');
  return type === 'object' || (type === undefined && properties !== undefined);
}

function listOf(value: JsonValue, path: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw new NotStrict(`${path} is not a list`);
  return value;
}

function mapValues(
  value: JsonValue,
  path: string,
  change: (value: JsonValue, name: string) => JsonObject,
): JsonObject {
  if (!isJsonObject(value)) throw new NotStrict(`${path} is not an object`);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one, name)]));
}

function described({ description }: JsonObject, notes: readonly string[]): string {
  const before = typeof description === 'string' ? `${description}\n` : '';
  return `${before}{${notes.join(', ')}}`;
}

/** Returns a schema that also accepts null. */
function nullable(schema: JsonObject): JsonObject {
  const { type, enum: values, ...rest } = schema;
  if (acceptsNull(schema)) return schema;
  const isPlain = typeof type === 'string' && type !== 'object' && !('const' in schema);
  if (!isPlain) return { anyOf: [schema, { type: 'null' }] };
  const withNull = Array.isArray(values) ? { enum: [...values, null] } : {};
  return { ...rest, type: [type, 'null'], ...withNull };
}

function acceptsNull({ type, enum: values, anyOf }: JsonObject): boolean {
  if (Array.isArray(type)) return type.includes('null');
  if (Array.isArray(anyOf)) return anyOf.some((one) => isJsonObject(one) && acceptsNull(one));
  return type === 'null' || (Array.isArray(values) && values.includes(null));
}
