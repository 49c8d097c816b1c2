import type { JsonObject, JsonValue } from '@millrace/core';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { ValidationResult } from '../contract/tool.ts';

/** Validates a value with a schema. The problem text has one line per issue and is addressed to the model. */
export async function validateWithSchema(
  schema: StandardSchemaV1,
  input: unknown,
): Promise<ValidationResult> {
  return toValidated(await schema['~standard'].validate(input));
}

function toValidated(result: StandardSchemaV1.Result<unknown>): ValidationResult {
  if (result.issues !== undefined)
    return { ok: false, problem: result.issues.map(issueLine).join('\n') };
  return { ok: true, value: result.value };
}

function issueLine({ message, path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((key) => String(typeof key === 'object' ? key.key : key));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}

/**
 * Removes null from optional properties that do not accept null. Models often write null for a property that
 * they should omit. The code loads on demand, because few values contain null.
 */
export async function withoutNulls(schema: JsonObject, value: JsonValue): Promise<JsonValue> {
  if (!JSON.stringify(value).includes('null')) return value;
  const { withoutOptionalNulls } = await import('./imprecise-call.ts');
  return withoutOptionalNulls(schema, value);
}

/** The JSON Schemas by schema. A program often creates the same tool several times, for its sub-agents. */
const jsonSchemas = new WeakMap<StandardSchemaV1, JsonObject>();

/** Returns the JSON Schema of a schema. Returns undefined if the schema library cannot produce it. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonObject | undefined {
  const known = jsonSchemas.get(schema);
  if (known !== undefined) return known;
  const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  if (jsonSchema === undefined) return undefined;
  const { $schema: _dialect, ...rest } = jsonSchema.input({ target: 'draft-2020-12' });
  jsonSchemas.set(schema, rest as JsonObject);
  return rest as JsonObject;
}
