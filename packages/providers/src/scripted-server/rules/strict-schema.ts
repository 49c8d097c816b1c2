import type { JsonObject, JsonValue } from '@millrace/core';
import { faultIf, isList, isObject } from './document.ts';

/** The rules of a provider for schemas that it enforces. */
export interface StrictSchemaRules {
  /** True if every property must be required. OpenAI has this rule. */
  readonly allRequired: boolean;
}

const refused = [
  ...['allOf', 'oneOf', 'not', 'if', 'then', 'else', 'patternProperties', 'propertyNames'],
  ...['dependentRequired', 'dependentSchemas', 'unevaluatedProperties', 'minLength', 'maxLength'],
  ...['uniqueItems', 'contains', 'prefixItems', 'default', 'minProperties', 'maxProperties'],
];

/**
 * Returns the reasons why a provider would reject a schema that it must enforce. The schema must describe an
 * object.
 */
export function strictSchemaFaults(
  schema: JsonValue | undefined,
  rules: StrictSchemaRules,
  at = 'schema',
): readonly string[] {
  // A missing schema is reported by other rules, so it is ignored here.
  if (!isObject(schema)) return [];
  const isPlainObject = schema['type'] === 'object' && schema['anyOf'] === undefined;
  return [
    ...faultIf(rules.allRequired && !isPlainObject, `${at}.type: must be object`),
    ...schemaFaults(schema, rules, at),
  ];
}

function schemaFaults(
  schema: JsonValue | undefined,
  rules: StrictSchemaRules,
  at: string,
): readonly string[] {
  if (!isObject(schema)) return [];
  const { properties, required, type, items, anyOf } = schema;
  const isObjectSchema = type === 'object' || (isList(type) && type.includes('object'));
  const names = isObject(properties) ? Object.keys(properties) : [];
  const listed = isList(required) ? required : [];
  const definitions = [schema['$defs'], schema['definitions']].flatMap((one) => entriesOf(one));
  return [
    ...refused.filter((key) => key in schema).map((key) => `${at}.${key}: not supported`),
    ...faultIf(
      isObjectSchema && schema['additionalProperties'] !== false,
      `${at}.additionalProperties: must be false`,
    ),
    ...names
      .filter((name) => isObjectSchema && rules.allRequired && !listed.includes(name))
      .map((name) => `${at}.required: ${name} is missing`),
    ...entriesOf(properties).flatMap(([name, one]) =>
      schemaFaults(one, rules, `${at}.properties.${name}`),
    ),
    ...definitions.flatMap(([name, one]) => schemaFaults(one, rules, `${at}.$defs.${name}`)),
    ...(items === undefined ? [] : schemaFaults(items, rules, `${at}.items`)),
    ...(isList(anyOf) ? anyOf : []).flatMap((one, index) =>
      schemaFaults(one, rules, `${at}.anyOf[${index}]`),
    ),
  ];
}

function entriesOf(value: JsonValue | undefined): readonly (readonly [string, JsonValue])[] {
  return isObject(value) ? Object.entries(value as JsonObject) : [];
}
