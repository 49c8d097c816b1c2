import fc from 'fast-check';
import { valuesOf } from './schema-values.ts';

export interface DrawnRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: string | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into as it came
type Document = any;

/** Requests of every operation of an OpenAPI document: rarely those that take away, often those that make. */
export function requestsOf(document: Document): fc.Arbitrary<DrawnRequest> {
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
): fc.Arbitrary<DrawnRequest> {
  const named = (place: string) =>
    operation.parameters.filter((parameter: Document) => parameter.in === place);
  const values = (parameters: readonly Document[]) => {
    const optional = parameters.filter(({ required }) => !required).map(({ name }) => name);
    const all = parameters.map(({ name, schema: own, content }) => {
      const value = valuesOf(document, own ?? content['application/json'].schema, name);
      return [name, value];
    });
    // Of all that may be said some is: with all of it, something is always wrong.
    return fc
      .tuple(
        fc.record(Object.fromEntries(all)),
        fc.subarray(optional, { maxLength: Math.min(3, optional.length) }),
      )
      .map(([given, said]) =>
        Object.entries(given).filter(([name]) => said.includes(name) || !optional.includes(name)),
      );
  };
  const schema = operation.requestBody?.content['application/json'].schema;
  const body = schema === undefined ? fc.constant(undefined) : bodies(document, schema);
  return fc
    .record({ params: values(named('path')), query: values(named('query')), body })
    .map(({ params, query, body: sent }) => ({
      method,
      path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encode(Object.fromEntries(params)[name]),
      ),
      query: query.map(([name, value]) => `${name}=${encode(value)}`).join('&'),
      body: sent,
    }));
}

/** JSON, and now and then what is none. */
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
  // What names something that is learned on the way is filled in later.
  return text.startsWith('{{') ? text : encodeURIComponent(text.toWellFormed());
}
