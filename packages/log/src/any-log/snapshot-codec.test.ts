import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { decodePart, encodePart } from './snapshot-codec.ts';

const key = fc.oneof(fc.string(), fc.constantFrom('$map', '$$map', '$ref', '$bytes', '__proto__'));
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
    fc.uint8Array({ maxLength: 20 }),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc
      .array(fc.tuple(key, tie('tree')), { maxLength: 4 })
      // As JSON has them: a key `__proto__` is a property like others.
      .map((pairs) => Object.fromEntries(pairs)),
    fc.array(fc.tuple(fc.string(), tie('tree')), { maxLength: 3 }).map((pairs) => new Map(pairs)),
    fc.array(fc.string(), { maxLength: 3 }).map((entries) => new Set(entries)),
  ),
}));

test('a part that is encoded and decoded has the same content', () => {
  fc.assert(
    fc.property(tree, (value) => {
      expect(decodePart(encodePart({ value }))).toEqual({ value });
    }),
    { numRuns: runs(2000) },
  );
});

test('the bytes of a Buffer, and properties without a value, are stored as in the state', () => {
  const value = { bytes: Buffer.from('abc'), nothing: undefined, $ref: 'x' };
  const expected = { bytes: new Uint8Array([97, 98, 99]), $ref: 'x' };
  expect(decodePart(encodePart(value))).toEqual(expected);
  const marked = { $ref: 'x', nothing: undefined };
  expect(decodePart(encodePart([marked]))).toEqual([{ $ref: 'x' }]);
});

test('damage to any character is noticed', () => {
  const body = encodePart({ text: 'The weather is fine.', numbers: [1, 2, 3] });
  for (let at = 0; at < body.length; at++) {
    const other = String.fromCharCode(body.charCodeAt(at) ^ 1);
    expect(decodePart(body.slice(0, at) + other + body.slice(at + 1))).toBeUndefined();
  }
  expect(decodePart('')).toBeUndefined();
  expect(decodePart(body.slice(0, -1))).toBeUndefined();
});
