import type { JsonValue } from '@millrace/core';
import { expect, test } from 'vitest';
import { valueChanges } from './compare-content.ts';

const [depth, count] = [100, 1000];

/** Returns a list of numbers inside of many lists. `onRead` is called for each number that is read. */
function nested(last: number, onRead: () => void): JsonValue {
  const numbers = Array.from({ length: count }, (_, index) => (index === count - 1 ? last : index));
  let value: JsonValue = new Proxy(numbers, {
    get(target, name) {
      if (/^\d+$/.test(String(name))) onRead();
      return Reflect.get(target, name);
    },
  });
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

test('18.383: attack: a comparison of deep values reads the innermost values once for each level', () => {
  let reads = 0;
  const onRead = () => void reads++;
  const changes = valueChanges(nested(1, onRead), nested(2, onRead));
  expect(changes).toEqual([{ path: `${'/0'.repeat(depth)}/${count - 1}`, a: 1, b: 2 }]);
  expect(reads).toBeLessThanOrEqual(4 * count);
});

test('18.383: changes have the order of the fields, and a limit', () => {
  const [a, b] = [
    { x: 1, 'y/~': [1, 2], z: null },
    { w: 0, 'y/~': [1, 3, 4], z: {} },
  ];
  expect(valueChanges(a, b)).toEqual([
    { path: '/x', a: 1, b: undefined },
    { path: '/y~1~0/1', a: 2, b: 3 },
    { path: '/y~1~0/2', a: undefined, b: 4 },
    { path: '/z', a: null, b: {} },
    { path: '/w', a: undefined, b: 0 },
  ]);
  const many = (of: number) => Array.from({ length: 80 }, () => of);
  expect(valueChanges(many(1), many(2))).toHaveLength(50);
});
