import type { JsonObject, JsonValue } from '@millrace/core';

/**
 * What is wrong with a JSON schema, and where; undefined where nothing is. A validator takes no notice of
 * what it does not understand, and the answer would be asked for again and again, or not be checked at all.
 */
export function schemaMistake(schema: JsonValue, place = '#'): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isObject(schema)) return `${place} has to be a schema: an object, true or false`;
  for (const [name, value] of Object.entries(schema)) {
    const mistake = checks.get(name)?.(value, `${place}/${pointer(name)}`);
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}

type Check = (value: JsonValue, place: string) => string | undefined;

const typeNames = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];

const typeName: Check = (value, place) =>
  typeNames.some((name) => name === value)
    ? undefined
    : `${place} has to be one of ${typeNames.join(', ')}`;

const type: Check = (value, place) =>
  Array.isArray(value) ? each(typeName)(value, place) : typeName(value, place);

const schemas: Check = (value, place) =>
  Array.isArray(value) && value.length > 0
    ? each(schemaMistake)(value, place)
    : `${place} has to be a list of schemas`;

const schemaOrList: Check = (value, place) =>
  Array.isArray(value) ? each(schemaMistake)(value, place) : schemaMistake(value, place);

const named: Check = (value, place) => {
  if (!isObject(value)) return `${place} has to be an object of schemas`;
  const found = Object.entries(value).map(([name, one]) =>
    schemaMistake(one, `${place}/${pointer(name)}`),
  );
  return found.find((mistake) => mistake !== undefined);
};

const names: Check = (value, place) =>
  Array.isArray(value) && value.every((name) => typeof name === 'string')
    ? undefined
    : `${place} has to be a list of names`;

const list: Check = (value, place) =>
  Array.isArray(value) ? undefined : `${place} has to be a list`;

const number: Check = (value, place) =>
  typeof value === 'number' ? undefined : `${place} has to be a number`;

const pattern: Check = (value, place) => {
  try {
    if (typeof value === 'string') return void new RegExp(value, 'u');
  } catch {
    // It is said below.
  }
  return `${place} has to be a regular expression`;
};

function each(check: Check): (values: readonly JsonValue[], place: string) => string | undefined {
  return (values, place) =>
    values
      .map((value, index) => check(value, `${place}/${index}`))
      .find((mistake) => mistake !== undefined);
}

const byCheck: readonly (readonly [Check, string])[] = [
  [type, 'type'],
  [named, 'properties patternProperties $defs definitions dependentSchemas'],
  [schemas, 'allOf anyOf oneOf prefixItems'],
  [schemaOrList, 'items'],
  [schemaMistake, 'not if then else contains propertyNames additionalProperties additionalItems'],
  [schemaMistake, 'unevaluatedProperties unevaluatedItems'],
  [names, 'required'],
  [list, 'enum'],
  [number, 'minimum maximum multipleOf minLength maxLength minItems maxItems'],
  [number, 'minProperties maxProperties minContains maxContains'],
  [pattern, 'pattern'],
];

const checks: ReadonlyMap<string, Check> = new Map(
  byCheck.flatMap(([check, words]) => words.split(' ').map((name) => [name, check] as const)),
);

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A name in a JSON pointer. */
function pointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
