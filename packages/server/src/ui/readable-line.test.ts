import { type JsonObject, parseJson } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { received } from '../testing/ui-client.ts';
import { readableLine } from './readable-line.ts';

const keys = fc.constantFrom('__proto__', 'constructor', 'prototype', 'a', '"__proto__":');
const { tree } = fc.letrec<{ tree: string; leaf: string; node: string }>((tie) => ({
  tree: fc.oneof({ depthSize: 'small' }, tie('leaf'), tie('node')),
  leaf: fc.constantFrom('1', '"__proto__"', '[]', '{"prototype":1}'),
  node: fc
    .array(fc.tuple(keys, tie('tree')), { maxLength: 3 })
    .map(
      (entries) => `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join()}}`,
    ),
}));

test('the SDK’s transport takes every value, whatever its keys are named', async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (text) => {
      const parsed = parseJson(text);
      const data = (parsed.ok ? parsed.value : null) as JsonObject;
      const stream = await received([{ data: readableLine({ type: 'data-x', data }) }]);
      const chunks = [];
      for await (const chunk of stream ?? []) chunks.push(chunk);
      expect(chunks).toHaveLength(1);
    }),
    { numRuns: 300 },
  );
});

test('a value without such keys is as it was', () => {
  const data = { constructor: 'a builder', list: [{ proto: null }] };
  expect(JSON.parse(readableLine({ type: 'data-x', data }))).toEqual({ type: 'data-x', data });
});
