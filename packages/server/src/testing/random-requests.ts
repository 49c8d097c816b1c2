import type { JsonValue } from '@millrace/core';
import fc from 'fast-check';

export interface RandomRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: string | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into as it came
type Document = any;

/**
 * Creates random requests for every operation of an OpenAPI document. Deletions are rare, and creations are
 * frequent.
 */
export function requestsOf(document: Document): fc.Arbitrary<RandomRequest> {
  const operations = Object.entries<Document>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Document>(methods).map(([method, operation]) => ({
      weight: method === 'delete' || operation.security ? 1 : path.endsWith('/rpc') ? 40 : 6,
      arbitrary: requestOf(document, path, method.toUpperCase(), operation),
    })),
  );
  return fc.oneof(...operations);
}

function requestOf(
  document: Document,
  path: string,
  method: string,
  operation: Document,
): fc.Arbitrary<RandomRequest> {
  const parametersIn = (place: string) =>
    operation.parameters.filter((parameter: Document) => parameter.in === place);
  const values = (parameters: readonly Document[]) => {
    const optional = parameters.filter(({ required }) => !required).map(({ name }) => name);
    const all = parameters.map(({ name, schema: own, content }) => {
      const value = valuesOf(document, own ?? content['application/json'].schema, name);
      return [name, value];
    });
    // A request has only some of the optional parameters. With all of them, every request would be invalid.
    return fc
      .tuple(
        fc.record(Object.fromEntries(all)),
        fc.subarray(optional, { maxLength: Math.min(3, optional.length) }),
      )
      .map(([given, chosen]) =>
        Object.entries(given).filter(([name]) => chosen.includes(name) || !optional.includes(name)),
      );
  };
  const schema = operation.requestBody?.content['application/json']?.schema;
  const body = schema === undefined ? fc.constant(undefined) : bodies(document, schema);
  return fc
    .record({ params: values(parametersIn('path')), query: values(parametersIn('query')), body })
    .map(({ params, query, body: sent }) => ({
      method,
      path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encode(Object.fromEntries(params)[name]),
      ),
      query: query.map(([name, value]) => `${name}=${encode(value)}`).join('&'),
      body: sent,
    }));
}

/** Creates request bodies. Most of them are JSON, and some are invalid text. */
function bodies(document: Document, schema: Document): fc.Arbitrary<string | undefined> {
  return fc.oneof(
    { weight: 40, arbitrary: valuesOf(document, schema).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.constantFrom('', '{', '[', 'null', '"', '{"a":1}{') },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

function encode(value: unknown): string {
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  const text = typeof value === 'string' ? value : isList ? value.join(',') : JSON.stringify(value);
  // A placeholder for a learned id is filled in later, so it is not encoded.
  return text.startsWith('{{') ? text : encodeURIComponent(text.toWellFormed());
}

// biome-ignore lint/suspicious/noExplicitAny: a JSON schema has whatever shape it has
type Schema = any;

/** Values that match almost no schema. */
const oddValues: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(
    ...[null, true, -1, 0, 1.5, 2 ** 60, '', ' ', '__proto__', 'constructor', '\u0000', '\ud800'],
    ...[
      '../../etc/passwd',
      '%00',
      'x'.repeat(5000),
      [],
      {},
      [[]],
      { __proto__: null, toString: 1 },
    ],
  ),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>,
);

const anyJson = fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<JsonValue>;

/**
 * The parameters that take learned ids, and the pool of each. `{{tasks:3}}` is replaced when the request is
 * sent.
 */
const pools: Readonly<Record<string, string>> = {
  task_id: 'tasks',
  agent_id: 'agents',
  message_id: 'messages',
  event_id: 'events',
  state_id: 'states',
  span_id: 'spans',
  tracker_id: 'tracker',
  last_processed_event_id: 'events',
  task_name: 'task names',
  agent_name: 'agent names',
  cursor: 'cursors',
};

/** Creates values that mostly match a schema of the document. */
function valuesOf(document: Schema, schema: Schema, name = ''): fc.Arbitrary<JsonValue> {
  const fitting = validValues(document, schema, name);
  return fc.oneof({ weight: 30, arbitrary: fitting }, { weight: 1, arbitrary: oddValues });
}

function validValues(document: Schema, schema: Schema, name: string): fc.Arbitrary<JsonValue> {
  const pool = pools[name];
  if (pool !== undefined) return fc.nat(9).map((n) => (n === 9 ? 'unknown' : `{{${pool}:${n}}}`));
  if (schema.$ref !== undefined) return valuesOf(document, resolve(document, schema.$ref), name);
  const options: readonly Schema[] | undefined = schema.anyOf ?? schema.oneOf;
  if (options !== undefined)
    return fc.oneof(...options.map((one) => valuesOf(document, one, name)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const types: readonly string[] = [schema.type].flat();
  return fc.oneof(...types.map((type) => ofType(document, { ...schema, type }, name)));
}

function resolve(document: Schema, ref: string): Schema {
  return ref
    .split('/')
    .slice(1)
    .reduce((at: Schema, step) => at[step], document);
}

function ofType(document: Schema, schema: Schema, name: string): fc.Arbitrary<JsonValue> {
  switch (schema.type) {
    case 'string':
      return textOf(schema, name);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valuesOf(document, schema.items ?? {}), { maxLength: 3 });
    case 'object':
      return objectOf(document, schema);
    default:
      return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;
  }
}

function numberOf({ minimum = -5, maximum = 100 }: Schema): fc.Arbitrary<number> {
  return fc.integer({ min: Math.max(minimum, -5), max: Math.min(maximum, 100) });
}

function textOf({ format, pattern }: Schema, name: string): fc.Arbitrary<string> {
  // The URL has a port without a listener, so no request of this test leaves the machine.
  if (format === 'uri') return fc.constant('http://127.0.0.1:1/');
  if (name === 'from') return fc.constantFrom('0', '1', '2', '3.1', '99', 'x');
  if (name.endsWith('_at') || name.endsWith('_time')) return fc.constant('2026-01-01T00:00:00Z');
  if (pattern === '^[a-z0-9-]+$') return fc.constantFrom('a', 'b-1', 'agent');
  if (pattern !== undefined) return fc.constant('0'.repeat(64));
  return fc.oneof(fc.string({ minLength: 1, maxLength: 8 }), fc.constantFrom('a', 'b'));
}

function objectOf(document: Schema, schema: Schema): fc.Arbitrary<JsonValue> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const fields = Object.entries<Schema>(properties).map(([key, field]) => [
    key,
    valuesOf(document, field, key),
  ]);
  if (fields.length > 0) {
    const all = fc.record(Object.fromEntries(fields), { requiredKeys: required });
    return fc
      .tuple(all, fc.nat(9))
      .map(([value, n]) => (n === 0 ? value : withSingleTaskRef(value)));
  }
  const isKnown = additionalProperties?.type ?? additionalProperties?.$ref;
  const value = isKnown ? valuesOf(document, additionalProperties) : anyJson;
  const keys = fc.constantFrom('{{messages:1}}', 'a', 'b', 'constructor');
  return fc.dictionary(keys, value, { maxKeys: 2 });
}

/**
 * Removes `task_name` from most values that also have `task_id`, because the server rejects both together.
 */
function withSingleTaskRef(value: Readonly<Record<string, unknown>>): JsonValue {
  const { task_name, ...rest } = value;
  const isNamed = task_name === undefined || Object.hasOwn(rest, 'task_id');
  return (isNamed ? rest : value) as JsonValue;
}
