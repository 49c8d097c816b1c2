import { expect, test } from 'vitest';
import { cloneOf } from './structured-clone.ts';

test('plain data is copied like structuredClone does, including cycles', () => {
  const value: Record<string, unknown> = {
    ...{ text: 'a', none: undefined, list: [1, [null]], at: new Date(5) },
    ...{ bytes: new Uint8Array([1, 2]), map: new Map([['k', { v: 1 }]]), set: new Set([1, 'b']) },
  };
  value['self'] = value;
  const copy = cloneOf(value);
  expect(copy).toEqual(structuredClone(value));
  expect(copy['self']).toBe(copy);
  for (const key of ['list', 'at', 'bytes', 'map', 'set']) expect(copy[key]).not.toBe(value[key]);
});

test('values that are not data are dropped, and errors are not copied', () => {
  const error = new Error('no');
  expect(cloneOf({ run: () => 1, error, name: 'x' })).toEqual({ error, name: 'x' });
  expect(cloneOf({ error }).error).toBe(error);
});
