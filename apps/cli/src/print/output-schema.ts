import { resolve } from 'node:path';
import type { OutputUnit, SchemaDraft } from '@cfworker/json-schema';
import type { AgentOptions } from '@millrace/agent';
import {
  isJsonObject,
  isMillraceError,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '@millrace/core';
import { readText } from '../config/json-file.ts';
import { UsageError } from '../contract/errors.ts';

/** The type of `AgentOptions.output`: a Standard Schema. */
type OutputSchema = NonNullable<AgentOptions['output']>;

/** Reads the JSON schema for the answer from a file. Throws a `UsageError` if it cannot be used. */
export async function readOutputSchema(file: string, cwd: string): Promise<OutputSchema> {
  const path = resolve(cwd, file);
  const text = await readText(path, { pipes: true }).catch((cause: NodeJS.ErrnoException) => {
    const why = isMillraceError(cause) ? cause.message : `it cannot be read (${cause.code})`;
    throw unusableSchema(file, why, cause);
  });
  const parsed = parseJson(text);
  if (!parsed.ok) throw unusableSchema(file, `it is not JSON (${parsed.failure.message})`);
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unusableSchema(file, 'it is not an object');
  const mistake = findSchemaMistake(value);
  if (mistake !== undefined) throw unusableSchema(file, mistake);
  return standardSchema(value as JsonObject, file);
}

async function standardSchema(schema: JsonObject, file: string): Promise<OutputSchema> {
  // The module is loaded on demand, because few runs need it.
  const { Validator } = await import('@cfworker/json-schema');
  // The validator changes its schema, so it gets a copy. The model must receive the original.
  const validator = new Validator(structuredClone(schema), schemaDraft(schema), false);
  const check = (value: unknown) => {
    try {
      return validator.validate(value);
    } catch (cause) {
      throw unusableSchema(file, errorText(cause), cause);
    }
  };
  // If the schema is not usable, this call throws before a request is sent.
  check(null);
  const validate = (value: unknown) => {
    const { valid, errors } = check(value);
    return valid ? { value } : { issues: collectIssues(errors) };
  };
  const jsonSchema = { input: () => schema, output: () => schema };
  const standard = { version: 1, vendor: 'millrace', validate, jsonSchema } as const;
  return { '~standard': standard };
}

function schemaDraft({ $schema }: JsonObject): SchemaDraft {
  const [, draft] = /draft-0(4|6|7)|2019-09/.exec(String($schema ?? '')) ?? [];
  if (draft === undefined) return /2019-09/.test(String($schema)) ? '2019-09' : '2020-12';
  return draft === '4' ? '4' : '7';
}

/**
 * Returns the errors that name a concrete problem. Other errors only report that a nested value is
 * wrong, so they are left out.
 */
function collectIssues(errors: readonly OutputUnit[]): readonly Issue[] {
  const leaves = errors.filter(({ keyword }) => !containerKeywords.has(keyword));
  return (leaves.length > 0 ? leaves : errors).map(({ error, instanceLocation }) => ({
    message: error,
    path: parsePointer(instanceLocation),
  }));
}

interface Issue {
  readonly message: string;
  readonly path: readonly string[];
}

const containerKeywords: ReadonlySet<string> = new Set([
  'properties',
  'items',
  'prefixItems',
  '$ref',
]);

/** Parses a JSON pointer that is written as a URL fragment. */
function parsePointer(location: string): readonly string[] {
  const keys = decodeURI(location).split('/').slice(1);
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function errorText(error: unknown): string {
  // A `RangeError` here means a stack overflow.
  if (error instanceof RangeError) return 'it refers to itself endlessly';
  const said = error instanceof Error ? error.message : String(error);
  return (said.split('\n', 1)[0] ?? '').replace(/(?<!\.)\.+$/, '');
}

function unusableSchema(file: string, why: string, cause?: unknown): UsageError {
  const message = `Cannot use ${file} as a schema for the answer: ${why}. The file must contain a JSON schema`;
  return new UsageError(message, { path: file }, { cause });
}

/**
 * Returns the first mistake in a JSON schema, with its location. The validator ignores keywords
 * that it does not understand. Without this check, the answer could be rejected each time, or not
 * be checked at all.
 */
function findSchemaMistake(schema: JsonValue, place = '#'): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isJsonObject(schema)) return `${place} must be a schema: an object, true or false`;
  for (const [name, value] of Object.entries(schema)) {
    const mistake = checkByKeyword.get(name)?.(value, `${place}/${escapePointer(name)}`);
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}

type Check = (value: JsonValue, place: string) => string | undefined;

const typeNames = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];

const typeName: Check = (value, place) =>
  typeNames.some((name) => name === value)
    ? undefined
    : `${place} must be one of ${typeNames.join(', ')}`;

const type: Check = (value, place) =>
  Array.isArray(value) ? each(typeName)(value, place) : typeName(value, place);

const schemas: Check = (value, place) =>
  Array.isArray(value) && value.length > 0
    ? each(findSchemaMistake)(value, place)
    : `${place} must be a list of schemas`;

const schemaOrList: Check = (value, place) =>
  Array.isArray(value) ? each(findSchemaMistake)(value, place) : findSchemaMistake(value, place);

const named: Check = (value, place) => {
  if (!isJsonObject(value)) return `${place} must be an object of schemas`;
  const found = Object.entries(value).map(([name, one]) =>
    findSchemaMistake(one, `${place}/${escapePointer(name)}`),
  );
  return found.find((mistake) => mistake !== undefined);
};

const names: Check = (value, place) =>
  Array.isArray(value) && value.every((name) => typeof name === 'string')
    ? undefined
    : `${place} must be a list of names`;

const list: Check = (value, place) =>
  Array.isArray(value) ? undefined : `${place} must be a list`;

const number: Check = (value, place) =>
  typeof value === 'number' ? undefined : `${place} must be a number`;

const pattern: Check = (value, place) => {
  try {
    if (typeof value === 'string') return void new RegExp(value, 'u');
  } catch {
    // The code below returns the error.
  }
  return `${place} must be a regular expression`;
};

function each(check: Check): (values: readonly JsonValue[], place: string) => string | undefined {
  return (values, place) =>
    values
      .map((value, index) => check(value, `${place}/${index}`))
      .find((mistake) => mistake !== undefined);
}

const keywordsByCheck: readonly (readonly [Check, string])[] = [
  [type, 'type'],
  [named, 'properties patternProperties $defs definitions dependentSchemas'],
  [schemas, 'allOf anyOf oneOf prefixItems'],
  [schemaOrList, 'items'],
  [
    findSchemaMistake,
    'not if then else contains propertyNames additionalProperties additionalItems',
  ],
  [findSchemaMistake, 'unevaluatedProperties unevaluatedItems'],
  [names, 'required'],
  [list, 'enum'],
  [number, 'minimum maximum multipleOf minLength maxLength minItems maxItems'],
  [number, 'minProperties maxProperties minContains maxContains'],
  [pattern, 'pattern'],
];

const checkByKeyword: ReadonlyMap<string, Check> = new Map(
  keywordsByCheck.flatMap(([check, words]) =>
    words.split(' ').map((name) => [name, check] as const),
  ),
);

/** Escapes a name for a JSON pointer. */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
