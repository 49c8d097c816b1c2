import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { expect, test } from 'vitest';
import { withoutOptionalNulls } from './optional-nulls.ts';
import { anthropicStrictRules, strictSchema } from './strict-schema.ts';

// A hostile MCP server sends a schema whose references need work that grows with the square of their number.

/** Returns the value, and counts each access to an object in it. */
function counted(value: JsonValue, count: { reads: number }): JsonValue {
  if (Array.isArray(value)) return value.map((one) => counted(one, count));
  if (!isJsonObject(value)) return value;
  const inner = Object.entries(value).map(([key, one]) => [key, counted(one, count)] as const);
  return new Proxy(Object.fromEntries(inner), {
    get(target, key) {
      count.reads++;
      return Reflect.get(target, key);
    },
  });
}

const fields = (count: number, schemaOf: (at: number) => JsonObject): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, schemaOf(at)]));

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...{ type: 'object', properties, required: Object.keys(properties) },
  ...more,
});

/** A chain: each definition refers to the next one. */
const chain = (count: number) =>
  object(
    fields(count, (at) => ({ $ref: `#/$defs/f${at}` })),
    {
      $defs: fields(count + 1, (at) =>
        at === count ? { type: 'string' } : { anyOf: [{ $ref: `#/$defs/f${at + 1}` }] },
      ),
    },
  );

/** Many spellings of a reference to the same large schema. */
const spellings = (count: number) =>
  object(
    fields(count, (at) => ({ $ref: `#${at}/$defs/a` })),
    { $defs: { a: object(fields(count, () => ({ type: 'string' }))) } },
  );

/** Properties that all lead to the same reference with a long path. */
const longPath = (count: number) => {
  let deep: JsonObject = { type: 'string' };
  for (let at = 0; at < count; at++) deep = { x: deep };
  const shared = { $ref: `#/deep${'/x'.repeat(count)}` };
  return object(
    fields(count, () => ({ $ref: '#/shared' })),
    { deep, shared },
  );
};

const convert = (schema: JsonObject) => strictSchema(schema, anthropicStrictRules);
const prune = (schema: JsonObject, count: number) =>
  withoutOptionalNulls(
    schema,
    fields(count, () => null as never),
  );

test.each([
  ['a chain of references', chain, convert],
  ['many spellings of one reference', spellings, convert],
  ['one long path for many values', longPath, prune],
] as const)('18.1036: attack: %s', (_, schemaOf, work) => {
  const readsOf = (size: number) => {
    const count = { reads: 0 };
    work(counted(schemaOf(size), count) as JsonObject, size);
    return count.reads;
  };
  // Twice as many references need about twice as much work.
  expect(readsOf(400) / readsOf(200)).toBeLessThan(2.5);
});
