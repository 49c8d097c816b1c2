import type { JsonObject } from '@millrace/core';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

/** What a schema library says of a schema as JSON Schema; undefined where it cannot. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonObject | undefined {
  const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  if (jsonSchema === undefined) return undefined;
  const { $schema: _dialect, ...rest } = jsonSchema.input({ target: 'draft-2020-12' });
  return rest as JsonObject;
}
