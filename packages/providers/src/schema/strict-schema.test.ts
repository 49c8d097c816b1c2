import type { JsonObject, JsonValue } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../../core/src/testing/runs.ts';
import { strictSchemaFaults } from '../scripted-server/rules/strict-schema.ts';
import { withoutOptionalNulls } from './optional-nulls.ts';
import { anthropicStrictRules, openaiStrictRules, strictSchema } from './strict-schema.ts';

const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' }) as JsonObject;

describe('fault 2: a schema becomes one that a provider enforces', () => {
  const order = jsonSchema(
    z.object({
      city: z.string().min(2).describe('A city'),
      unit: z.enum(['c', 'f']).optional(),
      days: z.number().int().default(3),
      note: z.string().nullable().optional(),
      place: z.object({ lat: z.number(), lon: z.number().optional() }).optional(),
    }),
  );

  test('for OpenAI, with every property required and optional ones nullable', () => {
    expect(strictSchema(order, openaiStrictRules)).toEqual({
      isStrict: true,
      schema: {
        type: 'object',
        properties: {
          city: { type: 'string', description: 'A city\n{minLength: 2}' },
          unit: { type: ['string', 'null'], enum: ['c', 'f', null] },
          days: expect.objectContaining({ type: ['integer', 'null'] }),
          note: { type: ['string', 'null'] },
          place: {
            anyOf: [
              {
                type: 'object',
                properties: { lat: { type: 'number' }, lon: { type: ['number', 'null'] } },
                required: ['lat', 'lon'],
                additionalProperties: false,
              },
              { type: 'null' },
            ],
          },
        },
        required: ['city', 'unit', 'days', 'note', 'place'],
        additionalProperties: false,
      },
    });
  });

  test('for Anthropic, with optional properties as they are', () => {
    const strict = strictSchema(order, anthropicStrictRules);
    expect(strict).toMatchObject({
      isStrict: true,
      schema: { required: ['city'], additionalProperties: false },
    });
  });

  test('references and recursion stay where they are accepted', () => {
    const tree: JsonObject = {
      type: 'object',
      properties: { root: { $ref: '#/$defs/node' } },
      required: ['root'],
      $defs: {
        node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } },
      },
    };
    expect(strictSchema(tree, openaiStrictRules)).toMatchObject({
      isStrict: true,
      schema: {
        $defs: {
          node: {
            required: ['next'],
            properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
          },
        },
      },
    });
    expect(strictSchema(tree, anthropicStrictRules)).toEqual({
      isStrict: false,
      reason: '#/$defs/node/properties/next/$ref is recursive',
    });
  });

  test.for<[JsonObject, string]>([
    [{ type: 'object' }, '# accepts any property'],
    [{ type: 'object', additionalProperties: { type: 'string' } }, '# accepts any property'],
    [{ type: 'object', properties: { a: {} } }, '#/properties/a accepts any value'],
    [{ type: 'array', items: { type: 'string' } }, 'the root is not an object'],
    [{ anyOf: [{ type: 'object', properties: {} }] }, 'the root is not an object'],
    [{ type: 'object', properties: {}, not: {} }, '#/not cannot be enforced'],
    [
      { type: 'object', properties: { a: { $ref: 'other.json' } } },
      '#/properties/a/$ref refers to another document',
    ],
    [
      { type: 'object', properties: {}, patternProperties: {} },
      '#/patternProperties cannot be enforced',
    ],
    [
      { type: 'object', properties: { a: { allOf: [{ type: 'string' }, { minLength: 1 }] } } },
      '#/properties/a/allOf has several schemas',
    ],
  ])('what cannot be enforced stays as it is: %j', ([schema, reason]) => {
    expect(strictSchema(schema, openaiStrictRules)).toEqual({ isStrict: false, reason });
  });

  test('a schema that is nested too deeply is not enforced', () => {
    const deep = (left: number): JsonObject =>
      left === 0
        ? { type: 'string' }
        : { type: 'object', properties: { a: deep(left - 1) }, required: ['a'] };
    expect(strictSchema(deep(9), openaiStrictRules).isStrict).toBe(true);
    expect(strictSchema(deep(12), openaiStrictRules).isStrict).toBe(false);
  });
});

/** A schema and values that fit it. Optional properties of the values may be missing. */
interface Sample {
  readonly schema: JsonObject;
  readonly value: fc.Arbitrary<JsonValue>;
}

const scalars: readonly Sample[] = [
  { schema: { type: 'string' }, value: fc.string() },
  { schema: { type: 'integer' }, value: fc.integer() },
  { schema: { type: 'boolean' }, value: fc.boolean() },
  { schema: { type: ['string', 'null'] }, value: fc.option(fc.string()) },
  { schema: { enum: ['a', 'b', 1] }, value: fc.constantFrom<JsonValue>('a', 'b', 1) },
  { schema: { const: 'x' }, value: fc.constant('x') },
];

const samples: fc.Arbitrary<Sample> = fc.letrec<{ any: Sample; object: Sample }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...scalars),
    tie('any').map((one) => ({
      schema: { type: 'array', items: one.schema },
      value: fc.array(one.value, { maxLength: 3 }) as fc.Arbitrary<JsonValue>,
    })),
    tie('object'),
  ),
  object: fc
    .dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.tuple(tie('any'), fc.boolean()), {
      maxKeys: 4,
    })
    .map((properties): Sample => {
      const entries = Object.entries(properties);
      // Null in an optional property that accepts null may mean either, and stays.
      const required = entries
        .filter(([, [{ schema }, isRequired]]) => isRequired || Array.isArray(schema['type']))
        .map(([name]) => name);
      const schema = {
        type: 'object',
        properties: Object.fromEntries(entries.map(([name, [one]]) => [name, one.schema])),
        required,
      };
      const values = Object.fromEntries(entries.map(([name, [one]]) => [name, one.value]));
      const value = fc.record(values, { requiredKeys: required, noNullPrototype: true });
      return { schema, value: value as fc.Arbitrary<JsonValue> };
    }),
})).object;

test('the nulls that a strict schema demands are removed again', () => {
  const cases = samples.chain(({ schema, value }) => value.map((own) => ({ schema, value: own })));
  fc.assert(
    fc.property(cases, ({ schema, value }) => {
      const strict = strictSchema(schema, openaiStrictRules);
      if (!strict.isStrict) return;
      expect(strictSchemaFaults(strict.schema, { allRequired: true })).toEqual([]);
      expect(withoutOptionalNulls(schema, filled(strict.schema, value))).toEqual(value);
    }),
    { numRuns: runs(1000) },
  );
});

/** Writes null for each missing property, as a model does that must write all of them. */
function filled(schema: JsonValue | undefined, value: JsonValue): JsonValue {
  const { properties, items, anyOf } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, JsonValue>>;
    readonly items?: JsonValue;
    readonly anyOf?: readonly JsonValue[];
  };
  if (anyOf !== undefined) return value === null ? null : filled(anyOf[0], value);
  if (Array.isArray(value)) return value.map((one) => filled(items, one));
  if (typeof value !== 'object' || value === null || properties === undefined) return value;
  const own = value as JsonObject;
  return Object.fromEntries(
    Object.entries(properties).map(([name, sub]) => [
      name,
      Object.hasOwn(own, name) ? filled(sub, own[name] ?? null) : null,
    ]),
  );
}

describe('nulls that belong to the value', () => {
  test('stay where the schema accepts or requires them', () => {
    const schema = jsonSchema(
      z.object({ a: z.string().nullable(), b: z.any().optional(), c: z.string().nullish() }),
    );
    const value = { a: null, b: null, c: null, unknown: null };
    expect(withoutOptionalNulls(schema, value)).toBe(value);
    expect(withoutOptionalNulls({ type: 'object' }, value)).toBe(value);
    const required = jsonSchema(z.object({ a: z.string() }));
    expect(withoutOptionalNulls(required, { a: null })).toEqual({ a: null });
  });

  test('are found behind references and choices', () => {
    const schema: JsonObject = {
      anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }],
      $defs: {
        a: { type: 'object', properties: { kind: { const: 'a' }, x: { type: 'string' } } },
        b: { type: 'object', properties: { kind: { const: 'b' }, y: { $ref: '#/$defs/a' } } },
        loop: { $ref: '#/$defs/loop' },
      },
    };
    expect(withoutOptionalNulls(schema, { kind: 'b', x: null, y: { x: null } })).toEqual({
      kind: 'b',
      y: {},
    });
    const loop = { $ref: '#/$defs/loop', $defs: schema['$defs'] } as JsonObject;
    expect(withoutOptionalNulls(loop, { x: null })).toEqual({ x: null });
  });

  test('stay in an entry of a list, if the schema of this entry accepts them', () => {
    const entry = (type: string) => ({ type: 'object', properties: { x: { type } } });
    const schema = {
      type: 'array',
      prefixItems: [entry('string'), entry('null')],
      items: entry('number'),
    };
    const values = [{ x: null }, { x: null }, { x: null }, { x: null }];
    expect(withoutOptionalNulls(schema, values)).toEqual([{}, { x: null }, {}, {}]);
  });
});

describe('a hostile schema', () => {
  // Each step of the old search multiplied its work, so these calls did not end.
  const expression: JsonObject = {
    anyOf: ['add', 'sub', 'mul', 'div'].map((op) => ({ $ref: `#/$defs/${op}` })),
  };
  const operation = (op: string): JsonObject => ({
    type: 'object',
    properties: { op: { const: op }, left: expression, note: { type: 'string' } },
  });
  const tree = {
    ...expression,
    $defs: Object.fromEntries(['add', 'sub', 'mul', 'div'].map((op) => [op, operation(op)])),
  };

  test('18.840: attack: a recursive choice and nested arguments', () => {
    let value: JsonValue = { op: 'add', note: null };
    let expected: JsonValue = { op: 'add' };
    for (let depth = 0; depth < 200; depth++) {
      value = { op: 'sub', left: value };
      expected = { op: 'sub', left: expected };
    }
    expect(withoutOptionalNulls(tree, value)).toEqual(expected);
  });

  test('18.840: attack: a schema that refers to itself in many alternatives', () => {
    const q = { anyOf: Array.from({ length: 16 }, () => ({ $ref: '#/properties/q' })) };
    const schema = { type: 'object', properties: { q, v: { type: 'string' } } };
    expect(withoutOptionalNulls(schema, { q: { q: 'x' }, v: null })).toEqual({ q: { q: 'x' } });
  });

  test('18.840: attack: work that multiplies schemas by values leaves the value unchanged', () => {
    const wide = Array.from({ length: 3000 }, (_, at) => ({
      type: 'object',
      properties: { [`p${at}`]: { type: 'string' }, inner: { type: 'object', title: `${at}` } },
    }));
    const schema: JsonObject = { anyOf: wide };
    const names = Array.from({ length: 2000 }, (_, at) => [`p${at}`, null] as const);
    const value = Object.fromEntries(names);
    expect(withoutOptionalNulls(schema, value)).toBe(value);
  });

  test('18.840: attack: a reference that is no valid URL', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: { x: { type: 'string' }, y: { $ref: '#/%zz' } },
    };
    expect(withoutOptionalNulls(schema, { x: null, y: null })).toEqual({});
    expect(strictSchema(schema, anthropicStrictRules).isStrict).toBe(true);
  });
});
